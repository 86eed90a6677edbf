import { describe, expect, onTestFinished, test } from 'vitest'
import { hasClusterNetwork } from '../support/cluster-cloud.ts'
import { cutOff, drain, hasOwnNodes } from '../support/cluster-nodes.ts'
import { openGate } from '../support/gate.ts'
import { bareSource, startJobBuilder } from '../support/job-builder.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { until } from '../support/until.ts'

const hostAddress = process.env['SHOAL_TEST_HOST_ADDRESS'] ?? ''

/** Opens a builder. Returns it with a source whose build waits at a gate. */
async function openWaitingBuild(quota?: Record<string, string>) {
  const gate = await openGate(hostAddress)
  const jobs = await startJobBuilder(quota, [{ host: gate.host, port: gate.port }])
  onTestFinished(() => jobs.end())
  const program = `require('node:http').get('http://${gate.host}:${gate.port}', (response) => response.resume())`
  return { gate, jobs, source: bareSource('node wait.cjs', { 'wait.cjs': program }) }
}

/** Returns the node of the build's only pod. */
const nodeOf = (namespace: string) =>
  kubectl(['get', 'pods', '-n', namespace, '-o', 'jsonpath={.items[*].spec.nodeName}'])

/** Waits until the Job, the pod, the Secret and the policy of the build are deleted. The two policies of the namespace remain. */
const untilDeleted = (namespace: string) =>
  until(
    async () => {
      const objects = await kubectl(['get', 'jobs,pods,secrets', '-n', namespace, '-o', 'name'])
      const policies = await kubectl(['get', 'networkpolicies', '-n', namespace, '-o', 'name'])
      return objects === '' && policies.split('\n').length === 2
    },
    'nothing of the build remains',
    180_000,
  )

describe.skipIf(!hasCluster || !hasClusterNetwork)('builds in a cluster', () => {
  test(
    'a build whose node is drained starts again on another node, and leaves nothing behind',
    { timeout: 600_000 },
    async () => {
      const { gate, jobs, source } = await openWaitingBuild()
      const building = jobs.build(source)
      await until(() => gate.requestCount() === 1, 'the build waits at the gate', 300_000)
      await drain(await nodeOf(jobs.namespace), 'shoal.dev/build')
      await until(() => gate.requestCount() === 2, 'the second attempt waits at the gate', 300_000)
      gate.open()
      const { error, log } = await building
      expect(error, log.join('\n')).toBeNull()
      expect(log).toContain('The host of the build stopped it: the build starts again')
      await untilDeleted(jobs.namespace)
    },
  )

  test.skipIf(!hasOwnNodes)(
    'a build whose node is lost starts again on the other node, and leaves nothing behind',
    { timeout: 900_000 },
    async () => {
      const { gate, jobs, source } = await openWaitingBuild()
      const building = jobs.build(source)
      await until(() => gate.requestCount() === 1, 'the build waits at the gate', 300_000)
      const node = await nodeOf(jobs.namespace)
      const restore = cutOff(node, [hostAddress])
      await until(() => gate.requestCount() === 2, 'the second attempt waits at the gate', 600_000)
      gate.open()
      const { error, log } = await building
      expect(error, log.join('\n')).toBeNull()
      expect(log.join('\n')).toMatch(/The host of the build (does not respond|stopped it): the build starts again/)
      restore()
      await untilDeleted(jobs.namespace)
    },
  )

  test(
    'a build waits while the tenant’s quota is used up, and the log of the build says why',
    { timeout: 600_000 },
    async () => {
      const { gate, jobs, source } = await openWaitingBuild({ pods: '0' })
      gate.open()
      const log: string[] = []
      const building = jobs.build(source, { log: (_severity, message) => void log.push(message) })
      const reason = /^The build waits\. The quota of the organization is used up: exceeded quota: squids, .*pods=0/
      await until(() => log.some((line) => reason.test(line)), 'the log has the reason', 120_000)
      await kubectl(['patch', 'resourcequota', '-n', jobs.namespace, 'squids', '-p', '{"spec":{"hard":{"pods":"2"}}}'])
      const { error } = await building
      expect(error, log.join('\n')).toBeNull()
      await untilDeleted(jobs.namespace)
    },
  )
})
