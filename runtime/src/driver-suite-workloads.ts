import { expect, test } from 'vitest'
import type { LogAdmission, LogCursor, Observation } from './driver.ts'
import type { RemoteDirectory, Suite } from './driver-suite.ts'

const MIB = 1024 * 1024

/** Tests of workloads, logs, endpoints and restarts of the server. */
export function workloadTests(suite: Suite): void {
  const { container, workload, observe, until, untilRemoved, read, need } = suite

  test('a changed container is replaced, a missing one is stopped, others continue', async () => {
    const api = container('api', {})
    await suite.host.runtime.apply(workload([api, container('one', { print: ['first'] }), container('two', {})]))
    for (const name of ['api', 'one', 'two']) await until(name, { state: 'running' })
    const cursor: LogCursor = {}
    expect(await read(cursor, 1)).toEqual(['one: first'])
    const before = await observe('api')
    await suite.host.runtime.apply(workload([api, container('one', { print: ['second'] })]))
    expect(await read(cursor, 1)).toEqual(['one: second'])
    await until('one', { state: 'running', run: { ordinal: 1 } })
    await suite.host.eventually(async () => expect(await observe('two')).toBeUndefined())
    expect(await observe('api')).toEqual(before)
  })

  test('two generations of a version run side by side', async () => {
    await suite.host.runtime.apply(workload([container('api', {})]))
    await suite.host.runtime.apply(workload([container('api', { print: ['new'] })], { id: 'org-squid-2' }))
    await until('api', { state: 'running' }, 'org-squid-1')
    await until('api', { state: 'running' }, 'org-squid-2')
    const some = await suite.host.runtime.observe(['org-squid-2', 'no-such-workload'])
    expect([...some, ...(await suite.host.runtime.observe([]))].map((o) => o.workload)).toEqual(['org-squid-2'])
    await suite.host.runtime.remove('org-squid-1')
    await untilRemoved((observation) => observation.workload === 'org-squid-1')
    expect((await suite.host.runtime.observe()).map((observation) => observation.workload)).toEqual(['org-squid-2'])
  })

  test('remove leaves nothing and is idempotent', async () => {
    const containers = [container('api', {}, { ports: [4000] }), container('processor', { ends: { exit: 1 } })]
    await suite.host.runtime.apply(workload(containers))
    await until('api', { state: 'running' })
    await until('processor', { state: 'backoff' })
    expect(await suite.host.leftovers()).not.toEqual([])
    await suite.host.runtime.remove('org-squid-1')
    await untilRemoved(() => true)
    await suite.host.eventually(async () => expect(await suite.host.leftovers()).toEqual([]))
    await suite.host.runtime.remove('org-squid-1')
    await suite.host.runtime.remove('no-such-workload')
  })

  test('a workload that is removed and immediately applied again runs', async () => {
    const desired = workload([container('api', {})])
    await suite.host.runtime.apply(desired)
    await until('api', { state: 'running' })
    const removal = suite.host.runtime.remove(desired.id)
    await suite.host.runtime.apply(desired)
    await removal
    await until('api', { state: 'running', run: { ordinal: 0 } })
  })

  test('each line is delivered in order under its container, including an unterminated last line', async () => {
    const lines = Array.from({ length: 50 }, (_, index) => `line ${index} ÄÖ€`)
    const containers = [
      container('one', { print: lines, printLast: 'last words', ends: { exit: 0 } }),
      container('two', { print: ['', 'x'] }),
    ]
    await suite.host.runtime.apply(workload(containers))
    const allLines = await read({}, 53)
    expect(allLines.filter((line) => line.startsWith('one'))).toEqual(
      [...lines, 'last words'].map((line) => `one: ${line}`),
    )
    expect(allLines.filter((line) => line.startsWith('two'))).toEqual(['two: ', 'two: x'])
  })

  test('a reader continues at its cursor without losing lines', async () => {
    const cursor: LogCursor = {}
    await suite.host.runtime.apply(workload([container('one', { print: ['a', 'b'] })]))
    expect(await read(cursor, 2)).toEqual(['one: a', 'one: b'])
    await suite.host.runtime.apply(workload([container('one', { print: ['c'] })]))
    await until('one', { state: 'running' })
    expect(await read(cursor, 1)).toEqual(['one: c'])
  })

  test('lines that the reader refuses are dropped and counted', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`)
    await suite.host.runtime.apply(
      workload([container('one', { print: lines }), container('two', { print: ['here'] })]),
    )
    const delivered: string[] = []
    let dropped = 0
    const controller = new AbortController()
    const admits: LogAdmission = ({ workload, bytes }) => workload === 'org-squid-1' && bytes !== 'line 10'.length
    const reading = (async () => {
      for await (const batch of suite.host.runtime.logs({}, controller.signal, admits)) {
        delivered.push(...batch.lines.map(({ container, text }) => `${container}: ${text}`))
        for (const drop of batch.dropped) dropped += drop.lines
      }
    })()
    try {
      await suite.host.eventually(async () => {
        expect(delivered).toContain('two: here')
        expect(delivered.length + dropped).toBe(21)
      })
    } finally {
      controller.abort()
      await reading
    }
    expect(delivered.filter((line) => line.startsWith('one'))).toEqual(lines.slice(0, 10).map((line) => `one: ${line}`))
  })

  test('the log of a removed container can still be read', async ({ skip }) => {
    need('logs of removed programs', skip)
    await suite.host.runtime.apply(workload([container('one', { print: ['a'], printLast: 'b' })]))
    await suite.host.eventually(async () =>
      expect(await suite.host.runtime.tail('org-squid-1', 'one', 10)).toEqual(['a', 'b']),
    )
    await suite.host.runtime.remove('org-squid-1')
    const cursor: LogCursor = {}
    expect(await read(cursor, 2)).toEqual(['one: a', 'one: b'])
  })

  test('tail returns the last lines of a container, even after it has ended', async () => {
    await suite.host.runtime.apply(workload([container('one', { print: ['a', 'b', 'c'], ends: { exit: 2 } })]))
    await until('one', { state: 'backoff' })
    expect(await suite.host.runtime.tail('org-squid-1', 'one', 2)).toEqual(['b', 'c'])
    expect(await suite.host.runtime.tail('org-squid-1', 'unknown', 2)).toEqual([])
    expect(await suite.host.runtime.tail('no-such-workload', 'one', 2)).toEqual([])
  })

  test('usage lists every container with its limits', async ({ skip }) => {
    need('usage of ended programs', skip)
    await suite.host.runtime.apply(workload([container('api', {}), container('init', { ends: { exit: 0 } })]))
    await until('api', { state: 'running' })
    await until('init', { state: 'finished' })
    const usage = await suite.host.runtime.usage()
    expect(usage.map((entry) => entry.container).sort()).toEqual(['api', 'init'])
    const api = usage.find((entry) => entry.container === 'api')
    expect(api).toMatchObject({ workload: 'org-squid-1', memoryLimitBytes: 256 * MIB, cpuLimitCores: 1 })
    expect(api?.run).toBe((await observe('api'))?.run?.id)
    expect(api?.oomKills).toBe(suite.host.enforcesMemory ? 0 : null)
    expect(api?.memoryBytes).toBeGreaterThan(0)
    expect(usage.find((entry) => entry.container === 'init')?.memoryBytes).toBe(0)
  })

  test('declared ports have endpoints, other ports do not', async () => {
    await suite.host.runtime.apply(workload([container('api', {}, { ports: [4000] })]))
    await until('api', { state: 'running' })
    await suite.host.eventually(async () =>
      expect(suite.host.directory.endpoint('org-squid-1', 'api', 4000)).toMatchObject({ kind: expect.any(String) }),
    )
    expect(suite.host.directory.endpoint('org-squid-1', 'api', 4001)).toBeNull()
    expect(suite.host.directory.endpoint('org-squid-1', 'unknown', 4000)).toBeNull()
    expect(suite.host.directory.endpoint('no-such-workload', 'api', 4000)).toBeNull()
  })

  /** Calls `work` with a directory in another process. */
  const withRemoteDirectory = async (
    work: (directory: RemoteDirectory) => Promise<void>,
    skip: (reason: string) => never,
  ) => {
    if (typeof suite.host.openRemoteDirectory === 'string') skip(suite.host.openRemoteDirectory)
    else {
      const directory = await suite.host.openRemoteDirectory()
      await work(directory).finally(() => directory.close())
    }
  }

  test('a directory in another process finds endpoints, even while no runtime is running', ({ skip }) =>
    withRemoteDirectory(async (directory) => {
      expect(await directory.endpoint('org-squid-1', 'api', 4000)).toBeNull()
      await suite.host.runtime.apply(workload([container('api', {}, { ports: [4000] })]))
      await until('api', { state: 'running' })
      const endpoints = async () => [
        suite.host.directory.endpoint('org-squid-1', 'api', 4000),
        await directory.endpoint('org-squid-1', 'api', 4000),
      ]
      await suite.host.eventually(async () => expect(await endpoints()).not.toContain(null))
      const [expected, remote] = await endpoints()
      expect(remote).toEqual(expected)
      expect(await directory.endpoint('org-squid-1', 'api', 4001)).toBeNull()
      expect(await directory.endpoint('org-squid-1', 'unknown', 4000)).toBeNull()
      await suite.host.kill()
      expect(await directory.endpoint('org-squid-1', 'api', 4000)).toEqual(expected)
      await suite.host.restart()
      const removal = suite.host.runtime.remove('org-squid-1')
      await suite.host.eventually(async () => expect(await directory.endpoint('org-squid-1', 'api', 4000)).toBeNull())
      await removal
    }, skip))

  test('a directory in another process reports new, moved and removed endpoints', ({ skip }) =>
    withRemoteDirectory(async (directory) => {
      const untilReported = () =>
        suite.host.eventually(async () => expect(await directory.changes()).toContain('org-squid-1/api'))
      await suite.host.runtime.apply(workload([container('api', { print: ['one'] }, { ports: [4000] })]))
      await untilReported()
      await until('api', { state: 'running' })
      await directory.changes()
      await suite.host.runtime.apply(workload([container('api', { print: ['two'] }, { ports: [4000] })]))
      await untilReported()
      await until('api', { state: 'running', run: { ordinal: 1 } })
      await directory.changes()
      await suite.host.runtime.remove('org-squid-1')
      await untilReported()
    }, skip))

  test('closing a runtime that was never started changes nothing', async () => {
    await suite.host.runtime.apply(workload([container('api', {})]))
    await until('api', { state: 'running' })
    const before = await suite.host.runtime.observe()
    const { runtime, directory } = suite.host.unstarted()
    await runtime.close('stop')
    await directory.close()
    expect(await suite.host.runtime.observe()).toEqual(before)
  })

  test('running programs are adopted unchanged after the server was killed', async () => {
    const cursor: LogCursor = {}
    await suite.host.runtime.apply(
      workload([container('api', { print: ['up'] }), container('processor', { ends: { exit: 5 } })]),
    )
    await until('api', { state: 'running' })
    await until('processor', { state: 'backoff' })
    await read(cursor, 1)
    // If the test cannot set the clock, the processor may restart before the next server observes it.
    const isUnchanged = ({ container }: Observation) =>
      container === 'api' || suite.host.lacks['controllable clock'] === undefined
    const before = (await suite.host.runtime.observe()).filter(isUnchanged)
    await suite.host.kill()
    await suite.host.restart()
    expect((await suite.host.runtime.observe()).filter(isUnchanged)).toEqual(before)
    suite.host.advance(1000)
    await until('processor', { state: 'backoff', lastRun: { exitCode: 5, ordinal: 1 } })
    expect(await observe('api')).toEqual(before.find((observation) => observation.container === 'api'))
  })

  test('the next server restarts programs that were stopped with the server, and does not count the stop as a crash', async ({
    skip,
  }) => {
    need('stops programs', skip)
    const containers = [container('init', { ends: { exit: 0 } }, { restart: 'never' }), container('api', {})]
    await suite.host.runtime.apply(workload(containers))
    await until('init', { state: 'finished' })
    await until('api', { state: 'running' })
    const before = (await observe('api'))?.run
    await suite.host.runtime.close('stop')
    await suite.host.restart()
    await until('api', { state: 'running', run: { ordinal: 1 }, lastRun: { how: 'stopped', ordinal: 0 } })
    expect((await observe('api'))?.lastRun?.id).toBe(before?.id)
    expect(await observe('init')).toMatchObject({ state: 'finished', lastRun: { exitCode: 0, how: 'done' } })
  })
}
