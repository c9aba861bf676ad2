/** The value of a JSON body, or undefined where it is none. Never throws, whatever the bytes. */
export const parseJson = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

const FORM = /^application\/x-www-form-urlencoded\b/i

/** What a body tells: JSON, or the JSON that GitHub puts into the field `payload` of a form. */
export const readJson = (content_type: string, body: Buffer): unknown => {
  if (!FORM.test(content_type.trim())) return parseJson(body)
  const payload = new URLSearchParams(body.toString('utf8')).get('payload')
  return payload === null ? undefined : parseJson(Buffer.from(payload))
}
