import { expect, onTestFinished, test } from 'vitest'
import {
  failureResponse,
  listResponse,
  startScriptedApiServer,
  watchEvent,
  watchResponse,
} from './api-server-harness.ts'
import { KubeError } from './kube-error.ts'
import { kinds } from './kinds.ts'
import { Watch } from './watch.ts'

async function openWatch(...responses: Parameters<typeof listResponse>[]) {
  const server = await startScriptedApiServer()
  server.responses.push(...responses.map((response) => listResponse(...response)))
  const changes: string[] = []
  const watch = new Watch({
    client: server.client,
    kind: kinds.pod,
    selector: { labelSelector: 'a=b' },
    onChange: ({ metadata }, isDeleted) => changes.push(`${isDeleted ? '-' : '+'}${metadata.name}`),
  })
  onTestFinished(() => watch.close())
  const names = () => [...watch.objects].map(({ metadata }) => metadata.name).sort()
  const versions = () => server.requests.map(({ searchParams }) => searchParams.get('resourceVersion'))
  return { ...server, watch, changes, names, versions }
}

test('a watch lists all objects and follows their changes', async () => {
  const { watch, responses, changes, names, requests } = await openWatch([5, 'one', 'two'])
  responses.push(
    watchResponse(
      'stay open',
      watchEvent('ADDED', 'three', 6),
      watchEvent('DELETED', 'one', 7),
      watchEvent('MODIFIED', 'two', 8),
    ),
  )
  await watch.start()
  await watch.waitForVersion('8')
  expect(names()).toEqual(['three', 'two'])
  expect(changes).toEqual(['+one', '+two', '+three', '-one', '+two'])
  expect(watch.get('one', 'two')?.metadata.resourceVersion).toBe('8')
  for (const { searchParams } of requests) expect(searchParams.get('labelSelector')).toBe('a=b')
})

test('a list is read in pages', async () => {
  const { watch, responses, names, requests } = await openWatch()
  responses.push(
    (response) => {
      const object = watchEvent('', 'one', 4).object
      response.end(JSON.stringify({ metadata: { resourceVersion: '5', continue: 'next' }, items: [object] }))
    },
    listResponse(5, 'two'),
  )
  await watch.start()
  expect(names()).toEqual(['one', 'two'])
  expect(requests[1]?.searchParams.get('continue')).toBe('next')
})

test('a watch that the server ends is followed by one that continues at the same version', async () => {
  const { watch, responses, versions, changes } = await openWatch([5, 'one'])
  responses.push(
    watchResponse('end', watchEvent('ADDED', 'two', 6), watchEvent('BOOKMARK', '', 9)),
    watchResponse('stay open', watchEvent('ADDED', 'three', 10)),
  )
  await watch.start()
  await watch.waitForVersion('10')
  expect(versions()).toEqual([null, '5', '9'])
  expect(changes).toEqual(['+one', '+two', '+three'])
})

test('a watch whose connection breaks lists again, even if the cluster was restored to an earlier version', async () => {
  const { watch, responses, versions, changes, names } = await openWatch([5, 'one'])
  responses.push(
    watchResponse('break', watchEvent('ADDED', 'two', 6), watchEvent('ADDED', 'three', 9)),
    listResponse(6, 'one', 'two'),
    watchResponse('stay open', watchEvent('ADDED', 'four', 7)),
  )
  await watch.start()
  await expect.poll(names).toEqual(['four', 'one', 'two'])
  expect(versions()).toEqual([null, '5', null, '6'])
  expect(changes).toContain('-three')
  expect(changes.at(-1)).toBe('+four')
})

test.each(['response', 'event'])(
  'a watch whose version has expired (%s) lists again, and reports what it missed',
  async (how) => {
    const { watch, responses, changes, names } = await openWatch([5, 'one', 'two'])
    const expired = { type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'too old' } }
    responses.push(
      how === 'event' ? watchResponse('end', expired) : failureResponse(410, 'Expired'),
      listResponse(20, 'two', 'three'),
    )
    await watch.start()
    await watch.waitForVersion('20')
    expect(names()).toEqual(['three', 'two'])
    expect(changes.slice(2)).toEqual(['-one', '+two', '+three'])
  },
)

test('a watch that is refused for a while recovers', async () => {
  const { watch, responses, names } = await openWatch([5, 'one'])
  responses.push(
    failureResponse(500, 'InternalError'),
    failureResponse(429, 'TooManyRequests'),
    watchResponse('stay open', watchEvent('ADDED', 'two', 6)),
  )
  await watch.start()
  await watch.waitForVersion('6')
  expect(names()).toEqual(['one', 'two'])
})

test('the state is unknown while the API server does not respond', { timeout: 30_000 }, async () => {
  const { watch, responses } = await openWatch([5, 'one'])
  for (let attempt = 0; attempt < 20; attempt++) responses.push((response) => response.destroy())
  await watch.start()
  const state = () => watch.waitForVersion().then(() => 'known', String)
  await expect.poll(state).toContain('The state of the pods in the cluster is not known')
  responses.splice(0, responses.length, listResponse(6, 'one'))
  await expect.poll(state, { timeout: 20_000 }).toBe('known')
})

test('a deletion waits until the objects that the object owns are deleted', async () => {
  const { client, responses, bodies } = await startScriptedApiServer()
  responses.push((response) => response.end('{"kind":"Pod"}'))
  expect(await client.delete(kinds.pod, 'one', 'two')).toEqual({ kind: 'Pod' })
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ propagationPolicy: 'Foreground' })
})

test('errors contain the status, reason and message of the API server', async () => {
  const { client, responses } = await startScriptedApiServer()
  responses.push(failureResponse(403, 'Forbidden'), failureResponse(404, 'NotFound'), (response) =>
    response.writeHead(502).end('no backend'),
  )
  const error = await client.list(kinds.pod, {}).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(KubeError)
  expect(error).toMatchObject({ status: 403, reason: 'Forbidden', message: 'It is Forbidden' })
  expect(await client.delete(kinds.pod, 'one', 'two')).toBeNull()
  await expect(client.list(kinds.pod, {})).rejects.toMatchObject({ status: 502, message: 'no backend' })
})
