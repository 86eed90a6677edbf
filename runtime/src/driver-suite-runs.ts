import { expect, test } from 'vitest'
import type { LogCursor } from './driver.ts'
import type { Suite } from './driver-suite.ts'

const MIB = 1024 * 1024

/** Tests of single runs of containers: restarts, exits, usage. */
export function runTests(suite: Suite): void {
  const { container, workload, observe, until, read, need } = suite

  test('apply starts programs and is idempotent', async () => {
    const containers = [container('api', { print: ['up'] }), container('processor', { print: ['up'] })]
    await suite.host.runtime.apply(workload(containers))
    await until('api', { state: 'running', run: { ordinal: 0 }, lastRun: null, reason: null })
    await until('processor', { state: 'running' })
    const before = await suite.host.runtime.observe()
    for (const { run } of before) expect(typeof run?.node).toBe(suite.host.hasNodes ? 'string' : 'object')
    await suite.host.runtime.apply(structuredClone(workload(containers)))
    await suite.host.runtime.apply(workload(containers.map((spec) => ({ ...spec, stopGraceMs: 100 }))))
    await suite.host.runtime.apply(workload([...containers, container('late', { print: ['up'] })]))
    const lines = await read({}, 3)
    expect(lines.sort()).toEqual(['api: up', 'late: up', 'processor: up'])
    expect((await suite.host.runtime.observe()).filter((observation) => observation.container !== 'late')).toEqual(
      before,
    )
  })

  test('a program that exits with 0 is finished and not restarted', async () => {
    await suite.host.runtime.apply(workload([container('processor', { print: ['done'], ends: { exit: 0 } })]))
    const lastRun = { ordinal: 0, exitCode: 0, how: 'done' } as const
    await until('processor', { state: 'finished', run: null, lastRun, retryAt: null, reason: null })
    suite.host.advance(3_600_000)
    expect(await read({}, 1)).toEqual(['processor: done'])
    expect(await observe('processor')).toMatchObject({ state: 'finished', lastRun })
  })

  test('a program with restart `always` is restarted after any exit code', async () => {
    await suite.host.runtime.apply(workload([container('api', { ends: { exit: 0 } }, { restart: 'always' })]))
    const lastRun = { ordinal: 0, exitCode: 0, how: 'error' } as const
    await until('api', { state: 'backoff', lastRun, reason: 'It ended with exit code 0' })
    suite.host.advance(1000)
    await until('api', { state: 'backoff', lastRun: { ...lastRun, ordinal: 1 } })
  })

  test('retry restarts a finished container with backoff, and ignores containers that are not finished or run only once', async ({
    skip,
  }) => {
    need('controllable clock', skip)
    const containers = [
      container('processor', { ends: { exit: 0 } }),
      container('init', { ends: { exit: 0 } }, { restart: 'never' }),
      container('api', {}),
    ]
    await suite.host.runtime.apply(workload(containers))
    await until('api', { state: 'running' })
    await until('init', { state: 'finished' })
    for (const [ordinal, waitMs] of [1000, 2000].entries()) {
      const lastRun = { ordinal, exitCode: 0 }
      await until('processor', { state: 'finished', lastRun: { ...lastRun, how: 'done' } })
      await suite.host.runtime.retry('org-squid-1', 'processor', 'It has more to do')
      await until('processor', { state: 'backoff', lastRun: { ...lastRun, how: 'error' } })
      const { since, retryAt, reason } = (await observe('processor')) ?? {}
      expect(Number(retryAt) - Number(since)).toBe(waitMs)
      expect(reason).toBe('It has more to do')
      await suite.host.runtime.retry('org-squid-1', 'processor', 'Again')
      expect(await observe('processor')).toMatchObject({ reason, retryAt })
      suite.host.advance(waitMs)
    }
    const before = (await suite.host.runtime.observe()).filter((observation) => observation.container !== 'processor')
    for (const name of ['init', 'api', 'unknown'])
      await suite.host.runtime.retry('org-squid-1', name, 'It has more to do')
    await suite.host.runtime.retry('no-such-workload', 'api', 'It has more to do')
    expect((await suite.host.runtime.observe()).filter((observation) => observation.container !== 'processor')).toEqual(
      before,
    )
  })

  test('a container with restart `never` is finished after any exit code, with a reason', async () => {
    await suite.host.runtime.apply(workload([container('init', { ends: { exit: 3 } }, { restart: 'never' })]))
    const lastRun = { exitCode: 3, how: 'error' } as const
    await until('init', { state: 'finished', lastRun, retryAt: null, reason: 'It ended with exit code 3' })
  })

  test('a crash is observed with its exit code and retried after 1, 2, 4 seconds', async ({ skip }) => {
    need('controllable clock', skip)
    await suite.host.runtime.apply(workload([container('processor', { print: ['here'], ends: { exit: 7 } })]))
    for (const [ordinal, waitMs] of [1000, 2000, 4000].entries()) {
      await until('processor', { state: 'backoff', run: null, lastRun: { exitCode: 7, how: 'error', ordinal } })
      const { since, retryAt } = (await observe('processor')) ?? {}
      expect(Number(retryAt) - Number(since)).toBe(waitMs)
      suite.host.advance(waitMs)
    }
    await until('processor', { state: 'backoff', lastRun: { ordinal: 3 } })
    expect(await read({}, 4)).toHaveLength(4)
  })

  test('each start is a new run with the next ordinal', async () => {
    await suite.host.runtime.apply(workload([container('processor', { print: ['here'], ends: { exit: 7 } })]))
    await until('processor', { state: 'backoff', lastRun: { ordinal: 0 } })
    const first = (await observe('processor'))?.lastRun
    expect(Number(first?.endedAt)).toBeGreaterThanOrEqual(Number(first?.startedAt))
    const cursor: LogCursor = {}
    await read(cursor, 1)
    const delays = suite.crashDelays()
    for (const [i, waitMs] of delays.entries()) {
      suite.host.advance(waitMs)
      await read(cursor, 1)
      // The next delay starts when the end is recorded, which is later than the exit.
      await until('processor', { state: 'backoff', lastRun: { ordinal: i + 1 } })
    }
    await until('processor', { state: 'backoff', lastRun: { ordinal: delays.length, exitCode: 7, how: 'error' } })
    expect((await observe('processor'))?.lastRun?.id).not.toBe(first?.id)
  })

  test('ordinals count runs that start and end between two observations', async () => {
    await suite.host.runtime.apply(workload([container('processor', { print: ['here'], ends: { exit: 7 } })]))
    // Each run prints one line, so the log counts the runs without an observation.
    const cursor: LogCursor = {}
    let printed = (await read(cursor, suite.crashDelays().length + 1, () => suite.host.advance(60_000))).length
    await until('processor', { state: 'backoff' })
    const ordinal = (await observe('processor'))?.lastRun?.ordinal ?? NaN
    printed += (await read(cursor, ordinal + 1 - printed)).length
    expect(printed).toBe(ordinal + 1)
  })

  test('usage is per run and starts at 0', async ({ skip }) => {
    need('usage of ended programs', skip)
    await suite.host.runtime.apply(workload([container('processor', { ends: { exit: 7 } })]))
    const cpuSeconds: (number | null)[] = []
    const ids = new Set<string | undefined>()
    for (const [ordinal, waitMs] of [1000, 2000, 4000, 8000].entries()) {
      await until('processor', { state: 'backoff', lastRun: { ordinal } })
      const [usage] = await suite.host.runtime.usage()
      expect(usage).toMatchObject({ run: (await observe('processor'))?.lastRun?.id, memoryBytes: 0 })
      cpuSeconds.push(usage?.cpuSeconds ?? null)
      ids.add(usage?.run)
      suite.host.advance(waitMs)
    }
    expect(ids.size).toBe(4)
    // Without cgroups, the usage of a run that ended before a measurement is unknown, and must not be reported as 0.
    const measured = cpuSeconds.filter((seconds) => seconds !== null)
    if (suite.host.enforcesMemory) expect(measured).toHaveLength(4)
    for (const seconds of measured) expect(seconds).toBeGreaterThan(0)
    // If usage accumulated, the fourth run would include the other three.
    if (measured.length === 4) expect(measured[3]).toBeLessThan(2.5 * (measured[0] ?? 0))
  })

  test('replacing a container stops its run, and the next run has the next ordinal', async () => {
    await suite.host.runtime.apply(workload([container('api', { print: ['one'] })]))
    await until('api', { state: 'running' })
    const before = (await observe('api'))?.run
    await suite.host.runtime.apply(workload([container('api', { print: ['two'] })]))
    await until('api', { state: 'running', run: { ordinal: 1 }, lastRun: { how: 'stopped', ordinal: 0 } })
    const { run, lastRun } = (await observe('api')) ?? {}
    expect(lastRun?.id).toBe(before?.id)
    expect(run?.id).not.toBe(before?.id)
  })

  test('a container that cannot be started fails with a reason and is retried', async ({ skip }) => {
    need('missing commands', skip)
    await suite.host.runtime.apply(workload([container('api', {}, { command: ['no-such-command'], env: {} })]))
    await until('api', { state: 'failed', run: null, lastRun: null })
    const { reason, retryAt } = (await observe('api')) ?? {}
    expect(reason).toContain('no-such-command')
    expect(retryAt).toBeInstanceOf(Date)
    // A container that never ran has no usage.
    expect(await suite.host.runtime.usage()).toEqual([])
  })

  test('a missing image is reported as the reason', async () => {
    await suite.host.runtime.apply(
      workload([container('init', {}, { restart: 'never' })], { image: suite.host.missingImage }),
    )
    await until('init', {
      state: 'failed',
      retryAt: null,
      reason: 'Its image no longer exists: deploy the squid again',
    })
  })

  test('a program that exceeds its memory limit is killed, and the kill is counted', async ({ skip }) => {
    if (!suite.host.enforcesMemory) skip('this host cannot limit memory')
    const resources = { cpuCores: 1, memoryBytes: 128 * MIB }
    await suite.host.runtime.apply(workload([container('processor', { ends: 'out of memory' }, { resources })]))
    await until('processor', { state: 'backoff', lastRun: { how: 'oom', exitCode: 137, oomKills: 1 } })
    expect((await observe('processor'))?.reason).toContain('memory')
    if (suite.host.lacks['usage of ended programs'] === undefined)
      expect(await suite.host.runtime.usage()).toMatchObject([{ container: 'processor', oomKills: 1 }])
  })

  test('a line that is too long is cut', async () => {
    await suite.host.runtime.apply(workload([container('one', { print: ['x'.repeat(70_000)] })]))
    const [long = ''] = await read({}, 1)
    expect(long).toMatch(/^one: x+ … \(cut: the line is longer than 64 KiB\)$/)
    // A driver may add the time to the line before it cuts the line.
    expect(65_536 - long.replaceAll(/[^x]/g, '').length).toBeLessThan(64)
  })
}
