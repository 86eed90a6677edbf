import { ClusterUnreachable, type Runtime } from '@shoal/runtime'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let isClusterDown: boolean
let worker: { close: () => Promise<void> }
beforeEach(async () => {
  t = await startDeployApp()
  d = await t.deployer()
  isClusterDown = false
  // Simulates a cluster whose API server can become unreachable: the simulated runtime, whose methods then fail.
  const runtime = new Proxy<Runtime>(t.runtime, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (isClusterDown && ['apply', 'observe', 'remove'].includes(String(name)))
          return Promise.reject(new ClusterUnreachable('The API server does not respond'))
        return value.apply(target, args) as unknown
      }
    },
  })
  worker = t.startWorker({ ...t.app, runtime })
})
afterEach(async () => {
  await worker?.close()
  await t?.close()
})

test('a deployment waits for any length of time while the cluster does not respond, and then continues', async () => {
  isClusterDown = true
  const deployment = await d.deploy({}, { slot: 'v1' })
  const read = () => d.api.deployments.get({ params: { code: d.org.code, id: String(deployment.id) } })
  const messages = async () => (await read()).logs.map(({ message }) => message)
  const line = 'The cluster does not respond. The deployment continues when it does.'
  while (!(await messages()).includes(line)) await sleep(5)
  // Longer than the deadline of any step.
  t.time.advance(minutes(180))
  await sleep(0)
  isClusterDown = false
  expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
  expect((await messages()).filter((message) => message === line)).toHaveLength(1)
  const { rows } = await t.app.database.pool.query('select attempt from deployments where id = $1', [deployment.id])
  expect(rows).toEqual([{ attempt: 1 }])
})
