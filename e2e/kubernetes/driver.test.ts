import { describe, expect, onTestFinished, test } from 'vitest'
import { type LogCursor, type Runtime, createKubernetesRuntime } from '@shoal/runtime'
import { hasOwnNodes, listenOnNode } from '../support/cluster-nodes.ts'
import { canConnect, createNamespace, hasCluster, kubectl, podImage, startPods } from '../support/kubernetes.ts'
import { container, listenOnHost, openDriver, readLogs, countConcurrentPods, workload } from './driver-harness.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS']

describe.skipIf(!hasCluster)('the Kubernetes driver', () => {
  test('starts programs, and removes them', async () => {
    const { runtime, until } = await openDriver()
    await runtime.apply(workload([container('api'), container('processor')]))
    await until('api', { state: 'running', run: { ordinal: 0, node: expect.any(String) }, lastRun: null, reason: null })
    await until('processor', { state: 'running', run: { ordinal: 0 } })
    expect(await runtime.tail('12.1', 'api', 5)).toEqual(['listening'])
    await runtime.remove('12.1')
    await expect.poll(() => runtime.observe(), { timeout: 60_000 }).toEqual([])
    await runtime.remove('12.1')
  })

  test.skipIf(!host)('resolves ports to the addresses of pods, at which the programs respond', async () => {
    const { runtime, directory, until } = await openDriver()
    const changes: string[] = []
    directory.changed((id, name) => changes.push(`${id}/${name}`))
    await runtime.apply(workload([container('api')]))
    await until('api', { state: 'running' })
    await expect.poll(() => directory.endpoint('12.1', 'api', 4350)).toMatchObject({ kind: 'tcp', port: 4350 })
    expect(changes).toContain('12.1/api')
    expect(directory.endpoint('12.1', 'api', 4351)).toBeNull()
    expect(directory.endpoint('12.1', 'unknown', 4350)).toBeNull()
    const endpoint = directory.endpoint('12.1', 'api', 4350)
    const address = endpoint?.kind === 'tcp' ? endpoint.host : ''
    const response = await fetch(`http://${address}:4350`)
    expect(await response.text()).toMatch(/^w12-1-/)
    await runtime.remove('12.1')
    await expect.poll(() => directory.endpoint('12.1', 'api', 4350)).toBeNull()
  })

  test('reports crashed and finished programs, and does not restart the finished ones', async () => {
    const { runtime, until, observe } = await openDriver()
    await runtime.apply(
      workload([
        container('init', { command: ['unknown-command'], restart: 'never' }),
        container('processor', { command: ['unknown-command'] }),
        container('done', { command: ['get', 'http://127.0.0.1:1'], restart: 'never' }),
      ]),
    )
    const lastRun = { ordinal: 0, exitCode: 1, how: 'error' }
    await until('init', { state: 'finished', run: null, lastRun, reason: 'It ended with exit code 1' })
    await until('processor', { state: 'backoff', run: null, lastRun: { exitCode: 1, how: 'error' } })
    const { since, retryAt, lastRun: first } = (await observe('processor')) ?? {}
    expect(Number(retryAt)).toBeGreaterThanOrEqual(Number(since))
    // The next run has another id, and its ordinal shows how many runs the observations have missed.
    await until('processor', { lastRun: { ordinal: (first?.ordinal ?? 0) + 1 } })
    expect((await observe('processor'))?.lastRun?.id).not.toBe(first?.id)
    expect(await observe('init')).toMatchObject({ state: 'finished', lastRun })
  })

  test('replaces a changed container only after the old one has ended, ends removed containers, and leaves the others running', async () => {
    const { runtime, until, observe, namespace } = await openDriver()
    const [one, two, three] = ['one', 'two', 'three'].map((name) => container(name))
    if (!one || !two || !three) throw new Error('unreachable')
    await runtime.apply(workload([one, two, three]))
    for (const name of ['one', 'two', 'three']) await until(name, { state: 'running' })
    const before = await observe('one')
    const replaced = (await observe('two'))?.run

    const watching = countConcurrentPods(namespace, 'two')
    await runtime.apply(
      workload([
        { ...one, stopGraceMs: 2000 },
        { ...two, env: { CHANGED: '1' } },
      ]),
    )
    await until('two', { state: 'running', run: { ordinal: 1 }, lastRun: { id: replaced?.id, how: 'stopped' } })
    await expect.poll(() => observe('three'), { timeout: 60_000 }).toBeUndefined()
    expect(await observe('one')).toEqual(before)
    expect(await watching.end()).toBe(1)
  })

  test('reports why a program cannot be started', async () => {
    const { runtime, until } = await openDriver()
    const huge = { cpuCores: 0.1, memoryBytes: 6 * 2 ** 40 }
    await runtime.apply(workload([container('huge', { resources: huge })], { tenant: '8' }))
    await runtime.apply(workload([container('api')], { id: '12.2', image: 'no/such/Image!' }))
    await runtime.apply(workload([container('api')], { id: '12.3', image: podImage.replace(/:[^:]+$/, ':none') }))
    const unreachable = `127.0.0.1:9/x@sha256:${'0'.repeat(64)}`
    await runtime.apply(workload([container('api')], { id: '12.4', image: unreachable }))
    const missingImage = 'Its image no longer exists: deploy the squid again'
    await until('api', { state: 'failed', reason: missingImage, run: null, lastRun: null }, '12.2')
    await until('api', { state: 'failed', reason: missingImage }, '12.3')
    await until('api', { state: 'starting', reason: expect.stringMatching(/^Its image cannot be pulled: /) }, '12.4')
    await until('huge', {
      state: 'starting',
      reason: expect.stringMatching(/^The quota of the organization is used up: /),
    })
  })

  test('reports when no host has enough free resources', async () => {
    const { runtime, until } = await openDriver({ quota: {} })
    await runtime.apply(workload([container('huge', { resources: { cpuCores: 0.1, memoryBytes: 6 * 2 ** 40 } })]))
    await until('huge', {
      state: 'starting',
      reason: expect.stringMatching(/^No host has enough free resources: .*Insufficient memory/),
    })
  })

  test('after a restart of the server, adopts running containers and continues an interrupted change', async () => {
    const driver = await openDriver()
    const { until, observe, namespace } = driver
    await driver.runtime.apply(workload([container('api'), container('processor', { command: ['unknown-command'] })]))
    await until('api', { state: 'running' })
    await until('processor', { state: 'backoff' })
    const before = await observe('api')
    await driver.restart()
    expect(await observe('api')).toEqual(before)
    expect(await observe('processor')).toMatchObject({ lastRun: { exitCode: 1, how: 'error' } })
    await driver.runtime.close('keep')
    await kubectl(['delete', 'deployment', '-n', namespace, '--all', '--wait=false'])
    await driver.restart()
    await until('api', { state: 'running', run: { ordinal: 1 }, lastRun: { ordinal: 0 } })
  })

  test('starts a program again if the cluster stopped it while no server ran, although it ended with 0', async () => {
    const driver = await openDriver()
    await driver.runtime.apply(workload([container('processor')]))
    await driver.until('processor', { state: 'running', run: { ordinal: 0 } })
    await driver.runtime.close('keep')
    await kubectl(['delete', 'pods', '-n', driver.namespace, '--all'])
    await kubectl(['wait', '-n', driver.namespace, 'jobs', '--all', '--for=condition=Complete', '--timeout=50s'])
    await driver.restart()
    await driver.until('processor', { state: 'running', run: { ordinal: 1 } })
    expect((await driver.observe('processor'))?.lastRun).toMatchObject({ ordinal: 0, how: 'evicted' })
  })

  test(
    'while two workers run, as when the node of a worker without a volume is drained, no program runs twice',
    { timeout: 300_000 },
    async () => {
      const { runtime, until, observe, options, namespace } = await openDriver()
      await runtime.apply(workload([container('api'), container('processor')]))
      for (const name of ['api', 'processor']) await until(name, { state: 'running' })
      const other = createKubernetesRuntime(options)
      await other.start()
      onTestFinished(() => other.close('keep'))
      const watching = countConcurrentPods(namespace, 'processor')
      for (const ordinal of [1, 2, 3]) {
        await kubectl(['delete', 'pods', '-n', namespace, '-l', 'shoal.dev/container=processor', '--wait=false'])
        await until('processor', { state: 'running', run: { ordinal }, lastRun: { ordinal: ordinal - 1 } })
        const expected = await observe('processor')
        await expect
          .poll(async () => (await other.observe()).find((observation) => observation.container === 'processor'))
          .toEqual(expected)
      }
      expect(await watching.end()).toBe(1)
    },
  )

  test('runs a workload that is removed and immediately applied again', async () => {
    const { runtime, until } = await openDriver()
    await runtime.apply(workload([container('api')]))
    await until('api', { state: 'running' })
    await runtime.remove('12.1')
    expect(await runtime.observe()).toMatchObject([{ container: 'api' }])
    await runtime.apply(workload([container('api')]))
    await until('api', { state: 'running', run: { ordinal: 0 } })
  })

  test('restarts a finished program after a delay, when `retry` is called', async () => {
    const { runtime, until, observe } = await openDriver()
    // With a negative count, `print` exits with 0 immediately. A program that connects could fail: until the cluster has applied the
    // policies to a new pod, it cannot reach anything.
    const spec = container('processor', { command: ['print', '-1', '0'] })
    const init = container('init', { command: ['unknown-command'], restart: 'never' })
    await runtime.apply(workload([spec, init]))
    await until('processor', { state: 'finished', lastRun: { ordinal: 0, exitCode: 0, how: 'done' }, retryAt: null })
    await until('init', { state: 'finished' })
    const before = await observe('init')
    await runtime.retry('12.1', 'processor', 'It has more to do')
    await until('processor', { lastRun: { ordinal: 0, exitCode: 0, how: 'error' } })
    expect(await observe('processor')).toMatchObject({ state: 'backoff', reason: 'It has more to do' })
    await until('processor', { state: 'finished', lastRun: { ordinal: 1, exitCode: 0, how: 'done' } })
    for (const name of ['init', 'unknown']) await runtime.retry('12.1', name, 'It has more to do')
    expect(await observe('init')).toEqual(before)
  })

  test('delivers each line once, across restarts of programs and of the server', async () => {
    const driver = await openDriver()
    const cursor: LogCursor = {}
    const lines: string[] = []
    const readUntil = (runtime: Runtime, isEnough: () => boolean) => readLogs(runtime, cursor, lines, isEnough)
    await driver.runtime.apply(
      workload([container('api'), container('processor', { command: ['get', 'http://127.0.0.1:1'] })]),
    )
    await readUntil(driver.runtime, () => lines.length >= 3)
    await driver.restart()
    const countOf = (name: string) => lines.filter((line) => line.startsWith(`${name}: `)).length
    await readUntil(driver.runtime, () => countOf('processor') >= 3)
    await driver.until('processor', { state: 'backoff' })
    const ordinal = (await driver.observe('processor'))?.lastRun?.ordinal ?? NaN
    await readUntil(driver.runtime, () => countOf('processor') > ordinal)
    expect(countOf('processor')).toBe(ordinal + 1)
    expect(countOf('api')).toBe(1)
    expect(lines).toContain('api: listening')
    expect((await driver.runtime.tail('12.1', 'processor', 1))[0]).toMatch(/connection refused/)
  })

  test.skipIf(!host)('prevents a tenant from reaching other tenants, the host and the API server', async () => {
    const [open, closed] = [await listenOnHost(), await listenOnHost()]
    const { runtime, directory, until, namespace } = await openDriver({
      egressTo: [{ cidr: host ?? '', port: open.port }],
    })
    await runtime.apply(workload([container('api'), container('api-2')]))
    await runtime.apply(workload([container('api')], { id: '13.1', version: '13', tenant: '8' }))
    for (const name of ['api', 'api-2']) await until(name, { state: 'running' })
    await until('api', { state: 'running' }, '13.1')
    const addressOf = (id: string, name: string) => {
      const endpoint = directory.endpoint(id, name, 4350)
      return endpoint?.kind === 'tcp' ? `${endpoint.host}:4350` : ''
    }
    const pod = await kubectl([
      'get',
      'pods',
      '-n',
      namespace,
      '-l',
      'shoal.dev/container=api',
      '-o',
      'jsonpath={.items[0].metadata.name}',
    ])
    expect(await canConnect(namespace, pod, `${host}:${open.port}`)).toBe(true)
    const others = [
      addressOf('13.1', 'api'),
      addressOf('12.1', 'api-2'),
      `${host}:${closed.port}`,
      '10.96.0.1:443',
      '10.90.0.1:6443',
    ]
    for (const target of others) expect(await canConnect(namespace, pod, target), target).toBe(false)
  })

  test.skipIf(!host || !hasOwnNodes)(
    'prevents a tenant from reaching kubelets and the metadata address, which a pod without the tenant’s policy reaches',
    async () => {
      const { runtime, until, observe, namespace } = await openDriver()
      await runtime.apply(workload([container('api')]))
      await until('api', { state: 'running' })
      const node = (await observe('api'))?.run?.node ?? ''
      await listenOnNode(node, '169.254.169.254', 80)
      const outside = await createNamespace()
      await startPods(outside, { twin: { node } })
      const podNames = 'jsonpath={.items[0].metadata.name}'
      const pod = await kubectl(['get', 'pods', '-n', namespace, '-o', podNames])
      const addresses = 'jsonpath={.items[*].status.addresses[?(@.type=="InternalIP")].address}'
      const kubelets = (await kubectl(['get', 'nodes', '-o', addresses]))
        .split(' ')
        .map((address) => `${address}:10250`)
      expect(kubelets).toHaveLength(2)
      for (const target of [...kubelets, '169.254.169.254:80']) {
        expect(await canConnect(outside, 'twin', target), `${target} without the policy`).toBe(true)
        expect(await canConnect(namespace, pod, target), target).toBe(false)
      }
    },
  )

  test('does not remove objects of another installation', async () => {
    const [first, second] = [await openDriver(), await openDriver()]
    for (const { runtime } of [first, second]) await runtime.apply(workload([container('api')]))
    for (const { until } of [first, second]) await until('api', { state: 'running' })
    await first.runtime.remove('12.1')
    await expect.poll(() => first.runtime.observe(), { timeout: 60_000 }).toEqual([])
    expect(await second.observe('api')).toMatchObject({ state: 'running', run: { ordinal: 0 }, lastRun: null })
  })
})
