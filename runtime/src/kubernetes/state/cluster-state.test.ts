import { expect, onTestFinished, test } from 'vitest'
import { systemRuntimeClock } from '../../clock.ts'
import { type ScriptedResponse, listResponse, startScriptedApiServer } from '../client/api-server-harness.ts'
import { labels } from '../names.ts'
import { ClusterState } from './cluster-state.ts'

/** Responds with a list of the anchors of workloads. */
const anchors =
  (...ids: string[]): ScriptedResponse =>
  (response) => {
    const items = ids.map((id) => ({
      metadata: { name: `w${id}`, namespace: 'one', uid: id, resourceVersion: '1', labels: { [labels.workload]: id } },
    }))
    response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items }))
  }

test('workloads are reconciled only when all objects are known, since programs seem to be missing before', async () => {
  const { client, responses, requests } = await startScriptedApiServer()
  // Each watch lists its objects, then begins to watch them.
  responses.push((response, url) => respond(response, url))
  const lists: ScriptedResponse[] = [listResponse(1), anchors('one', 'two'), ...Array(4).fill(listResponse(1))]
  const respond: ScriptedResponse = (response, url) => {
    responses.push((next, nextUrl) => respond(next, nextUrl))
    if (url.searchParams.has('watch')) response.writeHead(200).flushHeaders()
    else lists.shift()?.(response, url)
  }
  const remainingLists: number[] = []
  const state = new ClusterState({
    client,
    installation: 'test',
    clock: systemRuntimeClock,
    log: () => undefined,
    onChange: () => remainingLists.push(lists.length),
    onRun: () => undefined,
  })
  onTestFinished(() => state.close())
  await state.start()
  expect([...state.workloads]).toHaveLength(2)
  expect(remainingLists).toEqual([0, 0])
  expect(requests.filter(({ searchParams }) => !searchParams.has('watch'))).toHaveLength(6)
})
