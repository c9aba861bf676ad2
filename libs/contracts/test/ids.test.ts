import t from 'tap'
import {
  deriveTodoId,
  EndpointId,
  newEndpointId,
  newUlid,
  ServiceError,
  TodoId,
} from '../src/index.ts'

t.test('a todo id follows from its parts and from nothing else', async (t) => {
  const id = deriveTodoId(['wh_1', 'sha256:abc'])
  t.equal(id, deriveTodoId(['wh_1', 'sha256:abc']))
  t.not(deriveTodoId(['ab', 'c']), deriveTodoId(['a', 'bc']))
  t.equal(TodoId.parse(id), id)
  t.match(id, /^td_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab]/)
})

t.test('ids sort by time and pass their own schema', async (t) => {
  t.equal(newUlid(1_469_918_176_385).slice(0, 10), '01ARYZ6S41')
  t.ok(newUlid(1) < newUlid(2))
  t.ok(EndpointId.safeParse(newEndpointId(Date.now())).success)
  t.notOk(EndpointId.safeParse('ep_x').success)
})

t.test('an error keeps its cause to itself', async (t) => {
  const error = new ServiceError('unavailable', 'down', { cause: new Error('password=hunter2') })
  const body = error.toBody('req_1')
  t.strictSame(body, {
    code: 'unavailable',
    message: 'down',
    what_to_do: error.what_to_do,
    retry_after_seconds: 1,
    request_id: 'req_1',
  })
  t.strictSame(ServiceError.fromBody(body).toBody('req_1'), body)
})
