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
  worker = t.work()
  d = await t.deployer()
})
afterAll(async () => {
  await worker?.close()
  await t?.close()
})

const read = ({ id }: Pick<Deployment, 'id'>) => d.api.deployments.get({ params: { code: d.org.code, id: String(id) } })

/** The deployment once its log has this line so often. */
async function says(of: Pick<Deployment, 'id'>, line: RegExp, times = 1): Promise<Deployment> {
  while (true) {
    const now = await read(of)
    if (now.logs.filter(({ message }) => line.test(message)).length >= times) return now
    if (now.failed !== 'NO' || now.status === 'OK') throw new Error(`It ended without "${line}": ${textOf(now)}`)
    t.time.advance(250)
    await sleep(5)
  }
}
const textOf = ({ logs }: Deployment) => logs.map(({ message }) => message).join('\n')
/** Seconds after the programs were started, of each line that matches. */
const secondsOf = ({ logs }: Deployment, line: RegExp): number[] => {
  const start = logs.find(({ message }) => message.startsWith('Starting the programs'))?.at ?? ''
  return logs.filter(({ message }) => line.test(message)).map(({ at }) => (Date.parse(at) - Date.parse(start)) / 1000)
}
/** Lets the time of a deployment run out. */
async function givenUp(of: Deployment): Promise<Deployment> {
  t.time.advance(minutes(5))
  return await d.ended(of)
}

const waiting = /api: It answers HTTP with status 500/

test('an api that answers 500 is told within 15 seconds, with its answer and its last lines', async () => {
  await d.api.secrets.change({
    params: { code: d.org.code },
    body: { secrets: [{ action: 'UPDATE', name: 'TOKEN', value: 'tok-en-of-the-provider' }] },
  })
  const squid: TestSquid = {
    api: {
      // The secret stands where the answer is cut.
      answers: { status: 500, text: `<h1>no  schema</h1>\n${'x'.repeat(165)} tok-en-of-the-provider and more` },
      print: ['listening', 'cannot read schema.graphql'],
    },
  }
  const asked = await d.deploy(squid, { slot: 'v1' })
  const seen = await says(asked, waiting)
  expect(secondsOf(seen, waiting)[0]).toBeLessThanOrEqual(15)
  expect(textOf(seen)).toContain('<h1>no schema</h1>')
  expect(textOf(await says(asked, /api \| cannot read/))).toContain('The last lines of api:')
  const ended = await givenUp(asked)
  expect(ended.failureReason).toMatch(/api: It answers HTTP with status 500.*5 minutes/)
  expect(ended.failureReason).not.toContain('does not answer')
  expect(JSON.stringify(ended)).not.toContain('tok-en')
})

test('it is told again every half minute, without lines that were shown before', async () => {
  const answers = { status: 503, text: '' }
  const asked = await d.deploy({ api: { answers, print: ['only once'] } }, { slot: 'v6' })
  const again = /api: It answers HTTP with status 503/
  const seen = await says(asked, again, 3)
  const [first = 0, second = Infinity, third = Infinity] = secondsOf(seen, again)
  expect(second - first).toBeLessThanOrEqual(35)
  expect(third - second).toBeLessThanOrEqual(35)
  expect(textOf(seen).split('api | only once')).toHaveLength(2)
  await givenUp(asked)
})

test('an api that listens nowhere is told so, and the port it should listen on', async () => {
  const asked = await d.deploy({ api: { isDeaf: true } }, { slot: 'v2' })
  const nothing = /api: Nothing listens on port 4350, which GRAPHQL_SERVER_PORT names/
  expect(secondsOf(await says(asked, nothing), nothing)[0]).toBeLessThanOrEqual(15)
  expect((await givenUp(asked)).failureReason).toMatch(nothing)
})

test('a program that has ended is told at once, with its last lines, while another one is awaited', async () => {
  const dies = { print: ['no such table "block"'], ends: { afterMs: 3_000, exitCode: 7 }, badRuns: 1 }
  const squid: TestSquid = { api: { startMs: 120_000 }, processors: { eth: dies } }
  const asked = await d.deploy(squid, { slot: 'v3' })
  const seen = await says(asked, /eth ended with exit code 7/)
  const ended = /eth ended with exit code 7.*started again/
  const [at = Infinity] = secondsOf(seen, ended)
  expect(at).toBeLessThanOrEqual(6)
  expect(textOf(await says(asked, /eth \| no such table "block"/))).toContain('The last lines of eth:')
  await says(asked, /api: It is starting/)
  t.time.advance(minutes(2))
  expect(await d.ended(asked)).toMatchObject({ status: 'OK' })
})

test('a processor that has finished is told at once too', async () => {
  const squid: TestSquid = { api: { isDeaf: true }, processors: { eth: { ends: { afterMs: 1_000, exitCode: 0 } } } }
  const asked = await d.deploy(squid, { slot: 'v4' })
  const seen = await says(asked, /eth has ended with exit code 0/)
  expect(secondsOf(seen, /eth has ended/)[0]).toBeLessThanOrEqual(4)
  expect((await givenUp(asked)).failureReason).toContain('Nothing listens')
})

test('an init that takes long says so every half minute', async () => {
  const asked = await d.deploy(
    { init: { ends: { afterMs: 70_000, exitCode: 0 }, print: ['creating index'] } },
    { slot: 'v5' },
  )
  const seen = await says(asked, /init: It runs/, 2)
  expect(textOf(seen)).toContain('init | creating index')
  t.time.advance(minutes(1))
  expect(await d.ended(asked)).toMatchObject({ status: 'OK' })
})
