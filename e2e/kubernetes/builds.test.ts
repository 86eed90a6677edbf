import { fileURLToPath } from 'node:url'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasClusterNetwork } from '../support/cluster-cloud.ts'
import { type JobBuilder, defaultLimits, bareSource, startJobBuilder } from '../support/job-builder.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { until } from '../support/until.ts'

const example = fileURLToPath(new URL('../../examples/erc20-transfers', import.meta.url))
const hostAddress = process.env['SHOAL_TEST_HOST_ADDRESS'] ?? ''

type PodJson = {
  metadata: { name: string }
  spec: {
    automountServiceAccountToken: boolean
    securityContext: object
    containers: { securityContext: object; volumeMounts: { mountPath: string }[] }[]
  }
}

const podsIn = async (namespace: string): Promise<PodJson[]> =>
  (JSON.parse(await kubectl(['get', 'pods', '-n', namespace, '-o', 'json'])) as { items: PodJson[] }).items

/** Waits until the tenant has no Job and no pod. */
const untilDeleted = (namespace: string) =>
  until(
    async () => (await kubectl(['get', 'jobs,pods', '-n', namespace, '-o', 'name'])) === '' || null,
    'no Job and no pod remains',
    120_000,
  )

describe.skipIf(!hasCluster || !hasClusterNetwork)('builds in a cluster', () => {
  let jobs: JobBuilder

  beforeAll(async () => {
    jobs = await startJobBuilder()
  }, 600_000)

  afterAll(async () => {
    await jobs?.end()
  })

  test(
    'the example squid installs and compiles; its second build uploads less than 1 MB',
    { timeout: 1_200_000 },
    async () => {
      const limits = { ...defaultLimits, memoryBytes: 1024 * 2 ** 20, diskBytes: 2 * 2 ** 30 }
      const first = await jobs.build(example, { limits })
      expect(first.error, first.log.join('\n')).toBeNull()
      expect(first.log).toContain('$ npm ci --no-audit --no-fund')
      const pushed = expect.stringMatching(/^Dependencies pushed: \d+ MB in /)
      expect(first.log).toContainEqual(pushed)
      await jobs.builder.removeImage(first.image?.image ?? '')
      const second = await jobs.build(example, { limits, buildCommand: ['npm', 'run', 'build', '--', '--pretty'] })
      expect(second.error, second.log.join('\n')).toBeNull()
      expect(second.log).toContain('Dependencies unchanged: installed nothing')
      expect(second.log).not.toContainEqual(pushed)
      const [, uploaded] = /Image pushed: ([\d.]+) MB uploaded/.exec(second.log.at(-1) ?? '') ?? []
      expect(Number(uploaded), second.log.join('\n')).toBeLessThan(1)
      await untilDeleted(jobs.namespace)
    },
  )

  test(
    'a build has no rights, and reaches neither the cluster, the registry nor other services',
    { timeout: 600_000 },
    async () => {
      const listener = createServer((socket) => socket.end())
      await new Promise<void>((resolve) => listener.listen(0, hostAddress, resolve))
      onTestFinished(() => void listener.close())
      const address = listener.address()
      const port = typeof address === 'object' ? address?.port : null
      // The Service and the address of the API server, the registry, a service of the host, and the metadata service of clouds.
      const targets = [
        '10.96.0.1:443',
        '10.90.0.1:6443',
        process.env['SHOAL_TEST_REGISTRY'],
        `${hostAddress}:${port}`,
        '169.254.169.254:80',
      ]
      const probe = `
      const { connect } = require('node:net')
      const fs = require('node:fs')
      const reach = (target) => new Promise((resolve) => {
        const [host, port] = target.split(':')
        const socket = connect(Number(port), host, () => resolve('reached'))
        socket.setTimeout(2000, () => resolve('closed'))
        socket.on('error', () => resolve('closed'))
      })
      const main = async () => {
        for (const target of ${JSON.stringify(targets)}) console.log('probe', target, await reach(target))
        console.log('uid', process.getuid(), 'token', fs.existsSync('/var/run/secrets/kubernetes.io'), 'env', JSON.stringify(process.env).includes('SHOAL_BUILD'))
        let isWritable = true
        try { fs.writeFileSync('/x', '') } catch { isWritable = false }
        console.log('writable', isWritable)
        process.exit(0)
      }
      main()`
      const building = jobs.build(bareSource('node probe.cjs', { 'probe.cjs': probe }))
      const [pod] = await until(async () => {
        const pods = await podsIn(jobs.namespace)
        return pods.length > 0 ? pods : null
      }, 'the build has a pod')
      expect(pod?.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      expect(pod?.spec.containers[0]?.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      const { error, log } = await building
      expect(error, log.join('\n')).toBeNull()
      expect(log.filter((line) => line.startsWith('probe'))).toEqual(targets.map((target) => `probe ${target} closed`))
      expect(log).toContain('uid 1000 token false env false')
      expect(log).toContain('writable false')
    },
  )

  test.each([
    { name: 'fails', build: 'echo first; exit 3', reason: /npm run build ended with exit code 3\.\n.*first/s },
    {
      name: 'takes too long',
      build: 'echo waiting; sleep 1000',
      timeMs: 5000,
      reason: /was stopped: a build may take 0\.1 min/,
    },
    {
      name: 'uses too much memory',
      build: `node -e 'const all = []; for (;;) all.push(Buffer.alloc(2 ** 20, 1))'`,
      reason: /ran out of memory: a build may use 268 MB/,
    },
    {
      name: 'uses too much disk',
      build: 'head -c 400000000 /dev/zero > zeros; sleep 1000',
      reason: /ran out of disk space/,
    },
  ])(
    'a build that $name reports the reason, and leaves nothing behind',
    { timeout: 400_000 },
    async ({ build, timeMs, reason }) => {
      const limits = { ...defaultLimits, memoryBytes: 256 * 2 ** 20, diskBytes: 2 ** 28, timeMs: timeMs ?? 300_000 }
      const { error, log } = await jobs.build(bareSource(build), { limits })
      expect(error?.message, log.join('\n')).toMatch(reason)
      await untilDeleted(jobs.namespace)
    },
  )
})
