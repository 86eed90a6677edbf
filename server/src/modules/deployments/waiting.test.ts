import type { Deployment } from '@shoal/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import type { TestSquid } from './testing/squid-files.ts'

let t: DeployApp
let worker: { close: () => Promise<void> }
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  worker = t.startWorker()
  d = await t.deployer()
})
afterAll(async () => {
  await worker?.close()
  await t?.close()
})

const read = ({ id }: Pick<Deployment, 'id'>) => d.api.deployments.get({ params: { code: d.org.code, id: String(id) } })

/** Waits until the log contains `times` matching lines, and returns the deployment. */
async function untilLogged(deployment: Pick<Deployment, 'id'>, line: RegExp, times = 1): Promise<Deployment> {
  while (true) {
    const current = await read(deployment)
    if (current.logs.filter(({ message }) => line.test(message)).length >= times) return current
    if (current.failed !== 'NO' || current.status === 'OK')
      throw new Error(`The deployment ended without a line like "${line}": ${textOf(current)}`)
    t.time.advance(250)
    await sleep(5)
  }
}
const textOf = ({ logs }: Deployment) => logs.map(({ message }) => message).join('\n')
/** Returns, for each matching line, the seconds since the programs were started. */
const secondsOf = ({ logs }: Deployment, line: RegExp): number[] => {
  const start = logs.find(({ message }) => message.startsWith('Starting the programs'))?.at ?? ''
  return logs.filter(({ message }) => line.test(message)).map(({ at }) => (Date.parse(at) - Date.parse(start)) / 1000)
}
/** Advances the clock so that the deployment times out, and waits for its end. */
async function waitForTimeout(deployment: Deployment): Promise<Deployment> {
  t.time.advance(minutes(5))
  return await d.waitForEnd(deployment)
}

const status500 = /api: It responded with HTTP status 500/

test('an api that responds with 500 is reported within 15 seconds, with its response and its last lines', async () => {
  await d.api.secrets.change({
    params: { code: d.org.code },
    body: { secrets: [{ action: 'UPDATE', name: 'TOKEN', value: 'tok-en-of-the-provider' }] },
  })
  const squid: TestSquid = {
    api: {
      // The message cuts the response within the secret.
      response: { status: 500, text: `<h1>no  schema</h1>\n${'x'.repeat(165)} tok-en-of-the-provider and more` },
      print: ['listening', 'cannot read schema.graphql'],
    },
  }
  const deployment = await d.deploy(squid, { slot: 'v1' })
  const current = await untilLogged(deployment, status500)
  expect(secondsOf(current, status500)[0]).toBeLessThanOrEqual(15)
  expect(textOf(current)).toContain('<h1>no schema</h1>')
  expect(textOf(await untilLogged(deployment, /api \| cannot read/))).toContain('Last lines of api:')
  const ended = await waitForTimeout(deployment)
  expect(ended.failureReason).toMatch(/api: It responded with HTTP status 500.*5 minutes/)
  expect(ended.failureReason).not.toContain('does not respond')
  expect(JSON.stringify(ended)).not.toContain('tok-en')
})

test('the report is repeated every half minute, without lines that were shown before', async () => {
  const response = { status: 503, text: '' }
  const deployment = await d.deploy({ api: { response, print: ['only once'] } }, { slot: 'v6' })
  const status503 = /api: It responded with HTTP status 503/
  const current = await untilLogged(deployment, status503, 3)
  const [first = 0, second = Infinity, third = Infinity] = secondsOf(current, status503)
  expect(second - first).toBeLessThanOrEqual(35)
  expect(third - second).toBeLessThanOrEqual(35)
  expect(textOf(current).split('api | only once')).toHaveLength(2)
  await waitForTimeout(deployment)
})

test('an api that does not listen is reported with the port it should listen on', async () => {
  const deployment = await d.deploy({ api: { listens: false } }, { slot: 'v2' })
  const notListening = /api: Nothing listens on port 4350, which GRAPHQL_SERVER_PORT names/
  expect(secondsOf(await untilLogged(deployment, notListening), notListening)[0]).toBeLessThanOrEqual(15)
  expect((await waitForTimeout(deployment)).failureReason).toMatch(notListening)
})

test('the end of a program is reported immediately, with its last lines, while another one is not ready', async () => {
  const crashing = { print: ['no such table "block"'], ends: { afterMs: 3_000, exitCode: 7 }, endingRuns: 1 }
  const squid: TestSquid = { api: { startMs: 120_000 }, processors: { eth: crashing } }
  const deployment = await d.deploy(squid, { slot: 'v3' })
  const current = await untilLogged(deployment, /eth ended with exit code 7/)
  const ended = /eth ended with exit code 7.*being restarted/
  const [at = Infinity] = secondsOf(current, ended)
  expect(at).toBeLessThanOrEqual(6)
  expect(textOf(await untilLogged(deployment, /eth \| no such table "block"/))).toContain('Last lines of eth:')
  await untilLogged(deployment, /api: It is starting/)
  t.time.advance(minutes(2))
  expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
})

test('a processor that ended without an error is reported immediately', async () => {
  const squid: TestSquid = { api: { listens: false }, processors: { eth: { ends: { afterMs: 1_000, exitCode: 0 } } } }
  const deployment = await d.deploy(squid, { slot: 'v4' })
  const current = await untilLogged(deployment, /eth ended with exit code 0/)
  expect(secondsOf(current, /eth ended/)[0]).toBeLessThanOrEqual(4)
  expect((await waitForTimeout(deployment)).failureReason).toContain('Nothing listens')
})

test('a long init is reported every half minute', async () => {
  const deployment = await d.deploy(
    { init: { ends: { afterMs: 70_000, exitCode: 0 }, print: ['creating index'] } },
    { slot: 'v5' },
  )
  const current = await untilLogged(deployment, /init: It is running/, 2)
  expect(textOf(current)).toContain('init | creating index')
  t.time.advance(minutes(1))
  expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
})
