import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addOrg, type Org } from '../support/org.ts'
import { postmasterOf } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { until } from '../support/until.ts'

let shoal: Shoal
let org: Org
beforeAll(async () => {
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  org = await addOrg(shoal, 'steady')
  await deploySimulated({ shoal, ...org }, { name: 'squid', slot: 'v1' })
})
afterAll(async () => {
  await shoal?.end()
})

/** Calls the server until `stop`, which returns each different result. */
function watchServer(): { stop: () => Promise<string[]> } {
  const results = new Set<string>()
  let isStopped = false
  const watching = (async () => {
    while (!isStopped) {
      const { status } = await fetch(`${shoal.url}/readyz`)
      const squids = await org.api.squids.list({ params: { code: org.org } })
      results.add(`ready ${status}, ${squids.length} squids`)
      await pause(100)
    }
  })().catch((error: unknown) => void results.add(String(error)))
  return {
    stop: async () => {
      isStopped = true
      await watching
      return [...results]
    },
  }
}

test('the server stays ready and its API responds while the Postgres of squids crashes repeatedly, and restarts it later', async () => {
  const controlPlane = postmasterOf(shoal.dataDir)
  const countOf = (text: string) => shoal.output().match(new RegExp(`postgres-squids ${text}`, 'g'))?.length ?? 0
  const watch = watchServer()
  // After the third crash within a minute, the server waits for a minute before it restarts this Postgres.
  for (let crashes = 1; crashes <= 3; crashes++) {
    process.kill(postmasterOf(shoal.dataDir, 'postgres-squids'), 'SIGKILL')
    await until(() => countOf('stopped unexpectedly') === crashes, `the server notices crash ${crashes}`)
    if (crashes < 3)
      await until(() => countOf('was restarted') === crashes, 'the server restarts the Postgres of squids')
  }
  // The control plane also writes while the Postgres of squids is down.
  await org.api.secrets.change({
    params: { code: org.org },
    body: { secrets: [{ action: 'UPDATE', name: 'WRITTEN', value: 'x' }] },
  })
  await until(() => countOf('was restarted') === 3, 'the server restarts the Postgres of squids again')
  expect(await watch.stop()).toEqual(['ready 200, 1 squids'])
  expect(postmasterOf(shoal.dataDir)).toBe(controlPlane)
  expect(shoal.output()).not.toContain('times within a minute')
})
