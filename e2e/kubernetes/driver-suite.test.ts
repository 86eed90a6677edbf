import { createKubernetesDirectory, createKubernetesRuntime } from '@shoal/runtime'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, describe } from 'vitest'
import { type Harness, type RemoteDirectory, driverSuite } from '@shoal/runtime/driver-suite'
import { makeBareSquid } from '../support/bare-squid.ts'
import { buildImage, openImageBuilder } from '../support/image-builder.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { until } from '../support/until.ts'
import { driverOptions } from './driver-harness.ts'

const registry = process.env['SHOAL_TEST_REGISTRY']

/** The source of the program that the tests run. The environment variable BEHAVIOUR controls what it does. */
const program = `
const { print = [], printLast = '', ends = 'never' } = JSON.parse(process.env.BEHAVIOUR)
process.stdout.write(print.map((line) => line + '\\n').join('') + printLast)
if (ends === 'never') setInterval(() => {}, 60_000)
else if (ends === 'out of memory') for (const all = []; ; ) all.push(Buffer.alloc(1024 * 1024, 1))
else process.exitCode = ends.exit
`

describe.skipIf(!hasCluster || !registry)('on a cluster', () => {
  let image: string

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'suite-image-'))
    chmodSync(folder, 0o711)
    const project = makeBareSquid('suite', { 'main.cjs': program })
    try {
      image = await buildImage(await openImageBuilder(folder), { key: 'suite', project, paths: ['.'] })
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
      rmSync(dirname(project), { recursive: true })
    }
  }, 600_000)

  driverSuite('kubernetes', async () => {
    const options = driverOptions()
    const unstarted = () => ({
      runtime: createKubernetesRuntime(options),
      directory: createKubernetesDirectory(options),
    })
    const selector = ['-A', '-l', `shoal.dev/installation=${options.installation},shoal.dev/workload`]
    const harness: Harness = {
      ...unstarted(),
      lacks: {
        'controllable clock': 'a kubelet decides by its own clock when a program starts again',
        'usage of ended programs': 'a kubelet measures only what runs, every ten seconds (usage.test.ts)',
        'logs of removed programs': 'a cluster keeps no logs of pods that were deleted, unless a collector reads them',
        'missing commands': 'the first process of an image starts the command, and ends with 127',
        'stops programs': 'programs in a cluster do not end with the server',
      },
      // After the second crash, a kubelet waits ten seconds before it starts a program again, after the third twenty seconds.
      maxCrashes: 1,
      hasNodes: true,
      openRemoteDirectory: async () => openDirectory(),
      image,
      missingImage: `${registry}/no-such-image:1`,
      program: (behaviour) => ({
        command: ['node', 'main.cjs'],
        env: { BEHAVIOUR: JSON.stringify(behaviour) },
      }),
      advance: () => undefined,
      eventually: (check) => retryUntil(check),
      kill: () => harness.runtime.close('keep'),
      async restart() {
        harness.runtime = unstarted().runtime
        await harness.runtime.start()
      },
      unstarted,
      enforcesMemory: true,
      async leftovers() {
        const kinds = 'pods,jobs,deployments,secrets,configmaps'
        const output = await kubectl(['get', kinds, ...selector, '-o', 'name'])
        return output.split('\n').filter((line) => line !== '' && !line.startsWith('No resources'))
      },
      async dispose() {
        await harness.directory.close()
        await harness.runtime.close('keep')
        const namespaces = `shoal.dev/installation=${options.installation}`
        await kubectl(['delete', 'namespace', '-l', namespaces, '--wait=false'])
      },
    }
    /** Opens a directory that shares only the cluster with the directory of the harness, as in another process. */
    const openDirectory = async (): Promise<RemoteDirectory> => {
      const directory = createKubernetesDirectory(options)
      let changes: string[] = []
      directory.changed((workload, container) => changes.push(`${workload}/${container}`))
      await directory.start()
      return {
        endpoint: async (...query) => directory.endpoint(...query),
        async changes() {
          const reported = changes
          changes = []
          return reported
        },
        close: () => directory.close(),
      }
    }
    await harness.runtime.start()
    await harness.directory.start()
    return harness
  })
})

/** Repeats the check until it does not throw. @throws its last error after 90 seconds */
async function retryUntil(check: () => Promise<void>): Promise<void> {
  let last: unknown
  const passes = async () => {
    try {
      await check()
      return true
    } catch (error) {
      last = error
      return false
    }
  }
  await until(passes, 'the check passes', 90_000).catch(() => {
    throw last
  })
}
