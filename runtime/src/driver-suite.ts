import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type {
  ContainerSpec,
  Directory,
  Endpoint,
  LastRun,
  LogBatch,
  LogCursor,
  Observation,
  Run,
  Runtime,
  Workload,
} from './driver.ts'

/** What a test wants a program to do; each driver's harness makes something of it that it can run. */
export type Behaviour = {
  /** Lines it writes first, in this order. */
  print?: string[]
  /** Then this, without a line end. */
  printLast?: string
  /** How it ends then. Default: it does not, until it is ended. */
  ends?: 'never' | 'out of memory' | { exit: number }
}

/** A driver with nothing on it, and the ways of the place where it runs. */
export type Harness = {
  runtime: Runtime
  directory: Directory
  /** Opens a directory in another process; or why there can be none. */
  elsewhere: (() => Promise<Elsewhere>) | string
  image: string
  program(behaviour: Behaviour): Pick<ContainerSpec, 'command' | 'env'>
  /** Moves business time (back-off). */
  advance(ms: number): void
  /** Lets time pass until `check` throws no more. */
  eventually(check: () => Promise<void>): Promise<void>
  /** Kills the server without warning; what runs goes on. Then `revive` starts another one, which is `runtime` from then on. */
  kill(): Promise<void>
  revive(): Promise<void>
  /** A further runtime and directory of this place, not started. */
  unstarted(): { runtime: Runtime; directory: Directory }
  /** False where this host cannot limit memory. */
  enforcesMemory: boolean
  /** What is there of any workload beside the runtime's own memory: processes, files, sockets. */
  traces(): Promise<string[]>
  /** Ends everything. */
  dispose(): Promise<void>
}

/** What a test expects of a container. */
export type Expected = Partial<Omit<Observation, 'run' | 'lastRun'>> & {
  run?: Partial<Run> | null
  lastRun?: Partial<LastRun> | null
}

/** A directory in another process than the runtime's. */
export type Elsewhere = {
  endpoint(id: string, container: string, port: number): Promise<Endpoint | null>
  /** What `changed` told since the last call, as `<workload>/<container>`. */
  changes(): Promise<string[]>
  close(): Promise<void>
}

const MIB = 1024 * 1024

/** Holds a driver to the behaviour that the deploy engine counts on. */
export function driverSuite(name: string, open: () => Promise<Harness>): void {
  describe(`driver ${name}`, () => {
    let host: Harness

    beforeEach(async () => {
      host = await open()
    })

    afterEach(() => host.dispose())

    const container = (name: string, behaviour: Behaviour, more: Partial<ContainerSpec> = {}): ContainerSpec => ({
      name,
      resources: { cpuCores: 1, memoryBytes: 256 * MIB },
      restart: 'on-failure',
      ports: [],
      stopGraceMs: 5000,
      ...host.program(behaviour),
      ...more,
    })

    const workload = (containers: ContainerSpec[], more: Partial<Workload> = {}): Workload => ({
      id: 'org-squid-1',
      tenant: 'org',
      version: 'org-squid',
      image: host.image,
      containers,
      ...more,
    })

    const observe = async (container: string, id = 'org-squid-1'): Promise<Observation | undefined> => {
      const all = await host.runtime.observe()
      return all.find((one) => one.workload === id && one.container === container)
    }

    const until = (container: string, expected: Expected, id?: string): Promise<void> =>
      host.eventually(async () => expect(await observe(container, id)).toMatchObject(expected))

    /** Reads the log from `cursor` until `enough` lines came; moves `cursor`. */
    const read = async (cursor: LogCursor, enough: number): Promise<string[]> => {
      const lines: string[] = []
      const stop = new AbortController()
      const take = (batch: LogBatch) => {
        lines.push(...batch.lines.map((line) => `${line.container}: ${line.text}`))
        Object.assign(cursor, batch.cursor)
        if (lines.length >= enough) stop.abort()
      }
      const reading = (async () => {
        for await (const batch of host.runtime.logs({ ...cursor }, stop.signal)) take(batch)
      })()
      try {
        await host.eventually(async () => expect(lines.length).toBeGreaterThanOrEqual(enough))
      } finally {
        stop.abort()
        await reading
      }
      return lines
    }

    test('apply makes programs run, and twice changes nothing', async () => {
      const containers = [container('api', { print: ['up'] }), container('processor', { print: ['up'] })]
      await host.runtime.apply(workload(containers))
      await until('api', { state: 'running', run: { ordinal: 0, node: null }, lastRun: null, reason: null })
      await until('processor', { state: 'running' })
      const before = await host.runtime.observe()
      await host.runtime.apply(structuredClone(workload(containers)))
      await host.runtime.apply(workload(containers.map((one) => ({ ...one, stopGraceMs: 100 }))))
      await host.runtime.apply(workload([...containers, container('late', { print: ['up'] })]))
      const lines = await read({}, 3)
      expect(lines.sort()).toEqual(['api: up', 'late: up', 'processor: up'])
      expect((await host.runtime.observe()).filter((one) => one.container !== 'late')).toEqual(before)
    })

    test('a program that ends with 0 is finished and is not started again', async () => {
      await host.runtime.apply(workload([container('processor', { print: ['done'], ends: { exit: 0 } })]))
      const lastRun = { ordinal: 0, exitCode: 0, how: 'done' } as const
      await until('processor', { state: 'finished', run: null, lastRun, retryAt: null, reason: null })
      host.advance(3_600_000)
      expect(await read({}, 1)).toEqual(['processor: done'])
      expect(await observe('processor')).toMatchObject({ state: 'finished', lastRun })
    })

    test('a program that must keep running is started again whatever it ends with', async () => {
      await host.runtime.apply(workload([container('api', { ends: { exit: 0 } }, { restart: 'always' })]))
      const lastRun = { ordinal: 0, exitCode: 0, how: 'error' } as const
      await until('api', { state: 'backoff', lastRun, reason: 'It ended with exit code 0' })
      host.advance(1000)
      await until('api', { state: 'backoff', lastRun: { ...lastRun, ordinal: 1 } })
    })

    test('what was taken for finished is retried as after a crash, and only then', async () => {
      const containers = [
        container('processor', { ends: { exit: 0 } }),
        container('init', { ends: { exit: 0 } }, { restart: 'never' }),
        container('api', {}),
      ]
      await host.runtime.apply(workload(containers))
      await until('api', { state: 'running' })
      await until('init', { state: 'finished' })
      for (const [ordinal, waitMs] of [1000, 2000].entries()) {
        const lastRun = { ordinal, exitCode: 0 }
        await until('processor', { state: 'finished', lastRun: { ...lastRun, how: 'done' } })
        await host.runtime.retry('org-squid-1', 'processor', 'It has more to do')
        await until('processor', { state: 'backoff', lastRun: { ...lastRun, how: 'error' } })
        const { since, retryAt, reason } = (await observe('processor')) ?? {}
        expect(Number(retryAt) - Number(since)).toBe(waitMs)
        expect(reason).toBe('It has more to do')
        await host.runtime.retry('org-squid-1', 'processor', 'Again')
        expect(await observe('processor')).toMatchObject({ reason, retryAt })
        host.advance(waitMs)
      }
      const before = (await host.runtime.observe()).filter((one) => one.container !== 'processor')
      for (const name of ['init', 'api', 'nobody']) await host.runtime.retry('org-squid-1', name, 'It has more to do')
      await host.runtime.retry('never-was', 'api', 'It has more to do')
      expect((await host.runtime.observe()).filter((one) => one.container !== 'processor')).toEqual(before)
    })

    test('a program that runs once is finished whatever it ends with, and says so', async () => {
      await host.runtime.apply(workload([container('init', { ends: { exit: 3 } }, { restart: 'never' })]))
      const lastRun = { exitCode: 3, how: 'error' } as const
      await until('init', { state: 'finished', lastRun, retryAt: null, reason: 'It ended with exit code 3' })
    })

    test('a crash is observed with its exit code and is tried again after 1, 2, 4 seconds', async () => {
      await host.runtime.apply(workload([container('processor', { print: ['here'], ends: { exit: 7 } })]))
      for (const [ordinal, waitMs] of [1000, 2000, 4000].entries()) {
        await until('processor', { state: 'backoff', run: null, lastRun: { exitCode: 7, how: 'error', ordinal } })
        const { since, retryAt } = (await observe('processor')) ?? {}
        expect(Number(retryAt) - Number(since)).toBe(waitMs)
        host.advance(waitMs)
      }
      await until('processor', { state: 'backoff', lastRun: { ordinal: 3 } })
      expect(await read({}, 4)).toHaveLength(4)
    })

    test('each start is a run of its own, and those between two looks are counted by the gap', async () => {
      await host.runtime.apply(workload([container('processor', { print: ['here'], ends: { exit: 7 } })]))
      await until('processor', { state: 'backoff', lastRun: { ordinal: 0 } })
      const first = (await observe('processor'))?.lastRun
      expect(Number(first?.endedAt)).toBeGreaterThanOrEqual(Number(first?.startedAt))
      // It is not looked at meanwhile: its log tells how often it ran.
      const cursor: LogCursor = {}
      await read(cursor, 1)
      for (const waitMs of [1000, 2000, 4000]) {
        host.advance(waitMs)
        await read(cursor, 1)
        await host.eventually(async () => expect((await host.runtime.usage())[0]?.memoryBytes).toBe(0))
      }
      await until('processor', { state: 'backoff', lastRun: { ordinal: 3, exitCode: 7, how: 'error' } })
      expect((await observe('processor'))?.lastRun?.id).not.toBe(first?.id)
    })

    test('usage is of one run: it begins at 0 with each', async () => {
      await host.runtime.apply(workload([container('processor', { ends: { exit: 7 } })]))
      const used: (number | null)[] = []
      const ids = new Set<string | undefined>()
      for (const [ordinal, waitMs] of [1000, 2000, 4000, 8000].entries()) {
        await until('processor', { state: 'backoff', lastRun: { ordinal } })
        const [usage] = await host.runtime.usage()
        expect(usage).toMatchObject({ run: (await observe('processor'))?.lastRun?.id, memoryBytes: 0 })
        used.push(usage?.cpuSeconds ?? null)
        ids.add(usage?.run)
        host.advance(waitMs)
      }
      expect(ids.size).toBe(4)
      // A host without cgroups does not know what a short run used, unless it was looked at; it does not say 0.
      const known = used.filter((one) => one !== null)
      if (host.enforcesMemory) expect(known).toHaveLength(4)
      for (const one of known) expect(one).toBeGreaterThan(0)
      // Counted on, the fourth would show what four have used.
      if (known.length === 4) expect(known[3]).toBeLessThan(2.5 * (known[0] ?? 0))
    })

    test('what was ended because another took its place was stopped, and its runs are counted on', async () => {
      await host.runtime.apply(workload([container('api', { print: ['one'] })]))
      await until('api', { state: 'running' })
      const before = (await observe('api'))?.run
      await host.runtime.apply(workload([container('api', { print: ['two'] })]))
      await until('api', { state: 'running', run: { ordinal: 1 }, lastRun: { how: 'stopped', ordinal: 0 } })
      const { run, lastRun } = (await observe('api')) ?? {}
      expect(lastRun?.id).toBe(before?.id)
      expect(run?.id).not.toBe(before?.id)
    })

    test('what cannot be started is failed with a reason, and is tried again', async () => {
      await host.runtime.apply(workload([container('api', {}, { command: ['no-such-command'], env: {} })]))
      await until('api', { state: 'failed', run: null, lastRun: null })
      const { reason, retryAt } = (await observe('api')) ?? {}
      expect(reason).toContain('no-such-command')
      expect(retryAt).toBeInstanceOf(Date)
      // Nothing is known of what never ran.
      expect(await host.runtime.usage()).toEqual([])
    })

    test('an image that is gone is a reason too', async () => {
      await host.runtime.apply(workload([container('init', {}, { restart: 'never' })], { image: 'no-such-image' }))
      await until('init', { state: 'failed', retryAt: null, reason: 'Its image is gone: deploy the squid again' })
    })

    test('a program that takes more memory than it may is killed and counted', async ({ skip }) => {
      if (!host.enforcesMemory) skip('this host cannot limit memory')
      const resources = { cpuCores: 1, memoryBytes: 128 * MIB }
      await host.runtime.apply(workload([container('processor', { ends: 'out of memory' }, { resources })]))
      await until('processor', { state: 'backoff', lastRun: { how: 'oom', exitCode: 137, oomKills: 1 } })
      expect((await observe('processor'))?.reason).toContain('memory')
      expect(await host.runtime.usage()).toMatchObject([{ container: 'processor', oomKills: 1 }])
    })

    test('a changed container is replaced, a missing one ends, the others are left alone', async () => {
      const api = container('api', {})
      await host.runtime.apply(workload([api, container('one', { print: ['first'] }), container('two', {})]))
      for (const name of ['api', 'one', 'two']) await until(name, { state: 'running' })
      const cursor: LogCursor = {}
      expect(await read(cursor, 1)).toEqual(['one: first'])
      const before = await observe('api')
      await host.runtime.apply(workload([api, container('one', { print: ['second'] })]))
      expect(await read(cursor, 1)).toEqual(['one: second'])
      await until('one', { state: 'running', run: { ordinal: 1 } })
      await host.eventually(async () => expect(await observe('two')).toBeUndefined())
      expect(await observe('api')).toEqual(before)
    })

    test('two generations of a version run side by side', async () => {
      await host.runtime.apply(workload([container('api', {})]))
      await host.runtime.apply(workload([container('api', { print: ['new'] })], { id: 'org-squid-2' }))
      await until('api', { state: 'running' }, 'org-squid-1')
      await until('api', { state: 'running' }, 'org-squid-2')
      await host.runtime.remove('org-squid-1')
      expect((await host.runtime.observe()).map((one) => one.workload)).toEqual(['org-squid-2'])
    })

    test('remove leaves nothing, and of something gone is fine', async () => {
      const containers = [container('api', {}, { ports: [4000] }), container('processor', { ends: { exit: 1 } })]
      await host.runtime.apply(workload(containers))
      await until('api', { state: 'running' })
      await until('processor', { state: 'backoff' })
      expect(await host.traces()).not.toEqual([])
      await host.runtime.remove('org-squid-1')
      expect(await host.runtime.observe()).toEqual([])
      expect(await host.traces()).toEqual([])
      await host.runtime.remove('org-squid-1')
      await host.runtime.remove('never-was')
    })

    test('removed and wished again at once it runs', async () => {
      const desired = workload([container('api', {})])
      await host.runtime.apply(desired)
      await until('api', { state: 'running' })
      const removal = host.runtime.remove(desired.id)
      await host.runtime.apply(desired)
      await removal
      await until('api', { state: 'running', run: { ordinal: 0 } })
    })

    test('lines keep their order and their container, the last one without its end too', async () => {
      const lines = Array.from({ length: 50 }, (_, index) => `line ${index} ÄÖ€`)
      const containers = [
        container('one', { print: lines, printLast: 'last words', ends: { exit: 0 } }),
        container('two', { print: ['', 'x'.repeat(70_000)] }),
      ]
      await host.runtime.apply(workload(containers))
      const all = await read({}, 53)
      expect(all.filter((line) => line.startsWith('one'))).toEqual(
        [...lines, 'last words'].map((line) => `one: ${line}`),
      )
      const [empty, long = ''] = all.filter((line) => line.startsWith('two'))
      expect(empty).toBe('two: ')
      expect(long).toBe(`two: ${'x'.repeat(65_536)} … (cut: the line is longer than 64 KiB)`)
    })

    test('a reader goes on where its cursor is, and misses nothing that was written meanwhile', async () => {
      const cursor: LogCursor = {}
      await host.runtime.apply(workload([container('one', { print: ['a', 'b'] })]))
      expect(await read(cursor, 2)).toEqual(['one: a', 'one: b'])
      await host.runtime.apply(workload([container('one', { print: ['c'] })]))
      await until('one', { state: 'running' })
      expect(await read(cursor, 1)).toEqual(['one: c'])
    })

    test('the log of a removed container can still be read', async () => {
      await host.runtime.apply(workload([container('one', { print: ['a'], printLast: 'b' })]))
      await host.eventually(async () => expect(await host.runtime.tail('org-squid-1', 'one', 10)).toEqual(['a', 'b']))
      await host.runtime.remove('org-squid-1')
      const cursor: LogCursor = {}
      expect(await read(cursor, 2)).toEqual(['one: a', 'one: b'])
    })

    test('the last lines of a container are known, also after it ended', async () => {
      await host.runtime.apply(workload([container('one', { print: ['a', 'b', 'c'], ends: { exit: 2 } })]))
      await until('one', { state: 'backoff' })
      expect(await host.runtime.tail('org-squid-1', 'one', 2)).toEqual(['b', 'c'])
      expect(await host.runtime.tail('org-squid-1', 'nobody', 2)).toEqual([])
      expect(await host.runtime.tail('never-was', 'one', 2)).toEqual([])
    })

    test('usage names every container with its limits', async () => {
      await host.runtime.apply(workload([container('api', {}), container('init', { ends: { exit: 0 } })]))
      await until('api', { state: 'running' })
      await until('init', { state: 'finished' })
      const usage = await host.runtime.usage()
      expect(usage.map((one) => one.container).sort()).toEqual(['api', 'init'])
      const api = usage.find((one) => one.container === 'api')
      expect(api).toMatchObject({ workload: 'org-squid-1', memoryLimitBytes: 256 * MIB, cpuLimitCores: 1 })
      expect(api?.run).toBe((await observe('api'))?.run?.id)
      expect(api?.oomKills).toBe(host.enforcesMemory ? 0 : null)
      expect(api?.memoryBytes).toBeGreaterThan(0)
      expect(usage.find((one) => one.container === 'init')?.memoryBytes).toBe(0)
    })

    test('a port has an endpoint, what is unknown has none', async () => {
      await host.runtime.apply(workload([container('api', {}, { ports: [4000] })]))
      await until('api', { state: 'running' })
      expect(host.directory.endpoint('org-squid-1', 'api', 4000)).toMatchObject({ kind: expect.any(String) })
      expect(host.directory.endpoint('org-squid-1', 'api', 4001)).toBeNull()
      expect(host.directory.endpoint('org-squid-1', 'nobody', 4000)).toBeNull()
      expect(host.directory.endpoint('never-was', 'api', 4000)).toBeNull()
    })

    /** Calls `work` with a directory in another process. */
    const withElsewhere = async (work: (directory: Elsewhere) => Promise<void>, skip: (why: string) => never) => {
      if (typeof host.elsewhere === 'string') skip(host.elsewhere)
      else {
        const directory = await host.elsewhere()
        await work(directory).finally(() => directory.close())
      }
    }

    test('a directory in another process knows the endpoints, also while no runtime runs', ({ skip }) =>
      withElsewhere(async (directory) => {
        expect(await directory.endpoint('org-squid-1', 'api', 4000)).toBeNull()
        await host.runtime.apply(workload([container('api', {}, { ports: [4000] })]))
        await until('api', { state: 'running' })
        const own = host.directory.endpoint('org-squid-1', 'api', 4000)
        expect(await directory.endpoint('org-squid-1', 'api', 4000)).toEqual(own)
        expect(await directory.endpoint('org-squid-1', 'api', 4001)).toBeNull()
        expect(await directory.endpoint('org-squid-1', 'nobody', 4000)).toBeNull()
        await host.kill()
        expect(await directory.endpoint('org-squid-1', 'api', 4000)).toEqual(own)
        await host.revive()
        const removal = host.runtime.remove('org-squid-1')
        expect(await directory.endpoint('org-squid-1', 'api', 4000)).toBeNull()
        await removal
      }, skip))

    test('a directory in another process tells when endpoints come, move and go', ({ skip }) =>
      withElsewhere(async (directory) => {
        const isTold = () => host.eventually(async () => expect(await directory.changes()).toContain('org-squid-1/api'))
        await host.runtime.apply(workload([container('api', { print: ['one'] }, { ports: [4000] })]))
        await isTold()
        await until('api', { state: 'running' })
        await directory.changes()
        await host.runtime.apply(workload([container('api', { print: ['two'] }, { ports: [4000] })]))
        await isTold()
        await until('api', { state: 'running' })
        await directory.changes()
        await host.runtime.remove('org-squid-1')
        await isTold()
      }, skip))

    test('what was never started closes, and touches nothing', async () => {
      await host.runtime.apply(workload([container('api', {})]))
      await until('api', { state: 'running' })
      const before = await host.runtime.observe()
      const { runtime, directory } = host.unstarted()
      await runtime.close('stop')
      await directory.close()
      expect(await host.runtime.observe()).toEqual(before)
    })

    test('after the server was killed, what runs is adopted as it is', async () => {
      const cursor: LogCursor = {}
      await host.runtime.apply(
        workload([container('api', { print: ['up'] }), container('processor', { ends: { exit: 5 } })]),
      )
      await until('api', { state: 'running' })
      await until('processor', { state: 'backoff' })
      await read(cursor, 1)
      const before = await host.runtime.observe()
      await host.kill()
      await host.revive()
      expect(await host.runtime.observe()).toEqual(before)
      host.advance(1000)
      await until('processor', { state: 'backoff', lastRun: { exitCode: 5, ordinal: 1 } })
      expect(await observe('api')).toEqual(before.find((one) => one.container === 'api'))
    })

    test('programs that were stopped with the server run again with the next, and it counts as no crash', async () => {
      const containers = [container('init', { ends: { exit: 0 } }, { restart: 'never' }), container('api', {})]
      await host.runtime.apply(workload(containers))
      await until('init', { state: 'finished' })
      await until('api', { state: 'running' })
      const before = (await observe('api'))?.run
      await host.runtime.close('stop')
      await host.revive()
      await until('api', { state: 'running', run: { ordinal: 1 }, lastRun: { how: 'stopped', ordinal: 0 } })
      expect((await observe('api'))?.lastRun?.id).toBe(before?.id)
      expect(await observe('init')).toMatchObject({ state: 'finished', lastRun: { exitCode: 0, how: 'done' } })
    })
  })
}
