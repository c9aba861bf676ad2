import { selfManagedTitle } from './description.ts'
import { describeForge, forgeDeliveryId, forgeOf } from './forge.ts'
import { bodyHash } from './signature.ts'
import type { RequestHeaders, Source } from './source.ts'

const ID_MAX_BYTES = 256

/** An id that the sender chose. Nothing is signed here, so the header is as good as the body. */
const deliveryId = (headers: RequestHeaders): string | undefined =>
  [headers['x-delivery-id'], headers['webhook-id'], forgeDeliveryId(headers)]
    .map((value) => value?.trim())
    .find((id) => id !== undefined && id !== '' && Buffer.byteLength(id, 'latin1') <= ID_MAX_BYTES)

/** Whoever knows the URL may post. */
export const generic: Source = {
  trust_mode: 'token',
  verify: ({ headers, body }) => ({
    ok: true,
    detail: 'token in the url',
    external_id: deliveryId(headers) ?? bodyHash(body),
  }),
  describe: (input) => {
    const forge = forgeOf(input.headers)
    return forge === undefined
      ? { title: selfManagedTitle('generic') }
      : describeForge(forge, input)
  },
  checkSecret: () => 'a generic webhook has no secret: its URL is the credential',
}
