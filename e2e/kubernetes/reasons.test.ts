import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { hasOwnNodes, redirectPulls } from '../support/cluster-nodes.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { applyObjects, hasCluster, kubectl, nodeNames, tryKubectl } from '../support/kubernetes.ts'
import { startPasswordRegistry } from '../support/private-registry.ts'
import { until } from '../support/until.ts'

describe.skipIf(!hasCluster || !hasClusterNetwork || !hasOwnNodes)('the log of a deployment on a cluster', () => {
  let opened: ClusterCloud
  let project: string
  /** The only node on which pods may run. It has the images of all builds and of the first version. */
  let node: string
  let namespace: string

  beforeAll(async () => {
    opened = await startClusterCloud()
    project = makeBareSquid('bare')
    const [first = '', ...others] = await nodeNames()
    node = first
    await kubectl(['cordon', ...others])
    const deployment = await waitFor(await deployTo('v1'))
    expect(deployment, logOf(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
    const path = 'jsonpath={.items[0].metadata.name}'
    namespace = await kubectl(['get', 'namespaces', '-l', opened.selector, '-o', path])
  }, 600_000)

  afterAll(async () => {
    const names = await kubectl(['get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}'])
    await kubectl(['uncordon', ...names.split(' ')])
    await opened?.end()
    if (project) rmSync(dirname(project), { recursive: true, force: true })
  }, 120_000)

  const deployTo = (slot: string) => deploy({ ...opened.cloud, project }, { slot, name: 'bare' })
  const waitFor = (id: number) => waitForDeployment(opened.cloud, id, 300_000)
  const logOf = ({ logs }: { logs: { message: string }[] }) => logs.map(({ message }) => message).join('\n')
  const read = (id: number) => opened.cloud.api.deployments.get({ params: { code: opened.cloud.org, id: String(id) } })

  /** Deploys a version, waits until the log matches, corrects the cause, and expects that the deployment then succeeds. */
  async function expectReason(slot: string, reason: RegExp, correct: () => unknown): Promise<void> {
    const id = await deployTo(slot)
    let log = ''
    await until(async () => reason.test((log = logOf(await read(id)))), 'the log has the reason').catch(
      (error: unknown) => {
        throw new Error(`${String(error)}\n${log}`)
      },
    )
    await correct()
    expect(await waitFor(id), log).toMatchObject({ status: 'OK', failed: 'NO' })
  }

  test('says that no node has capacity', { timeout: 600_000 }, async () => {
    await kubectl(['cordon', node])
    const allow = async () => void (await kubectl(['uncordon', node]))
    onTestFinished(allow)
    await expectReason('room', /^Waiting for \w+: No host has enough free resources: .*unschedulable/m, allow)
  })

  test('says that the quota is used up', { timeout: 600_000 }, async () => {
    const metadata = { namespace, name: 'full' }
    await applyObjects({ apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { pods: '0' } } })
    const remove = async () =>
      void (await kubectl(['delete', 'resourcequota', '-n', namespace, 'full', '--ignore-not-found']))
    onTestFinished(remove)
    const reason = /^Waiting for \w+: The quota of the organization is used up: exceeded quota: full/m
    await expectReason('quota', reason, remove)
  })

  test('says that an image cannot be pulled', { timeout: 600_000 }, async () => {
    // A new image, which no node has.
    writeFileSync(join(project, 'changed.txt'), 'pull')
    const reason = /^Waiting for \w+: Its image cannot be pulled: /m
    await expectReason('pull', reason, redirectPulls(`${process.env['SHOAL_TEST_HOST_ADDRESS']}:9`))
  })

  test('says that the registry refuses the credentials', { timeout: 600_000 }, async () => {
    writeFileSync(join(project, 'changed.txt'), 'credentials')
    const { host } = await startPasswordRegistry()
    const reason =
      /^Waiting for \w+: Its image cannot be pulled, since the registry refuses the credentials of this installation: /m
    await expectReason('auth', reason, redirectPulls(host))
  })

  test('says that the namespace of the organization is being deleted', { timeout: 600_000 }, async () => {
    // The finalizer keeps the namespace until it is removed.
    const holder = { namespace, name: 'holder', finalizers: ['shoal.dev/test'] }
    await applyObjects({ apiVersion: 'v1', kind: 'ConfigMap', metadata: holder })
    const release = async () => {
      const patch = '{"metadata":{"finalizers":null}}'
      await tryKubectl(['patch', 'configmap', '-n', namespace, 'holder', '-p', patch])
    }
    onTestFinished(release)
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
    const refused = await waitFor(await deployTo('gone'))
    expect(refused).toMatchObject({ failed: 'REQUIREMENTS' })
    expect(logOf(refused)).toContain(`The namespace ${namespace} of the organization is being deleted in the cluster.`)
    await release()
    await kubectl(['wait', '--for=delete', `namespace/${namespace}`, '--timeout=50s'])
    const deployment = await waitFor(await deployTo('gone'))
    expect(deployment, logOf(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
  })
})
