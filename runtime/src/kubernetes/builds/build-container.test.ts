import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { packTree } from '../../build/pack-tree.ts'
import { TreeTasks } from '../../build/tree-tasks.ts'
import type { BuildAction } from './build-actions.ts'
import { readBuildEvents } from './build-events.ts'
import {
  DEPENDENCIES_ARCHIVE,
  type ResultTree,
  receiveTree,
  storeArchive,
  unpackReceivedDependencies,
} from './build-results.ts'
import { type BuildContainer, BuildServer } from './build-server.ts'

const program = fileURLToPath(new URL('../../images/container/build.cjs', import.meta.url))
const tar = dirname(createRequire(import.meta.url).resolve('tar/package.json'))
const limits = { diskBytes: 10_000_000 }
const env = { PATH: process.env['PATH'] ?? '' }

let server: BuildServer
let folder: string

beforeEach(async () => {
  server = await BuildServer.listen('127.0.0.1', 0)
  folder = mkdtempSync(join(tmpdir(), 'build-container-'))
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

type Served = {
  events: unknown[][]
  app: ResultTree | null
  dependencies: string | null
  token: string
  revoke: () => void
  child: ChildProcess
}

/** Runs the program of a container with these actions. Resolves when it has ended. */
async function runContainer(actions: BuildAction[], onEvent: (served: Served) => void = () => undefined) {
  const served = { events: [] as unknown[][], app: null, dependencies: null } as unknown as Served
  const record = (...event: unknown[]) => {
    served.events.push(event)
    onEvent(served)
  }
  const source = join(folder, 'source')
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, 'package.json'), '{}')
  const container: BuildContainer = {
    actions,
    open: (name) => {
      if (name === 'source') return packTree(source, 'compressed')
      return name === 'dependencies' ? createReadStream(join(folder, 'stored', DEPENDENCIES_ARCHIVE)) : null
    },
    receive: (name) => async (archive) => {
      const context = { limits, trees: new TreeTasks() }
      if (name === 'app') served.app = await receiveTree(archive, join(folder, 'received'), context)
      else {
        await storeArchive(archive, join(folder, 'stored'), context)
        served.dependencies = (await unpackReceivedDependencies(join(folder, 'stored'), context)).dir
      }
    },
    readEvents: (stream) =>
      readBuildEvents(stream, {
        onStart: (step) => record('start', step),
        onLine: (line) => record('line', line),
        onExit: (code, oom) => record('exit', code, oom),
        onOmitted: (path) => record('omitted', path),
        onData: () => undefined,
      }),
  }
  Object.assign(served, server.admit(container))
  const url = `http://127.0.0.1:${server.port}`
  served.child = spawn(process.execPath, [program], {
    env: { ...env, SHOAL_BUILD_URL: url, SHOAL_BUILD_TOKEN: served.token, SHOAL_BUILD_TAR: tar },
    stdio: 'ignore',
  })
  const [code] = (await once(served.child, 'exit')) as [number]
  return { ...served, code }
}

const work = (...names: string[]) => join(folder, 'work', ...names)
const fetchSource = (): BuildAction => ({ do: 'fetch', name: 'source', to: work('app') })
const run = (script: string): BuildAction => ({
  do: 'run',
  step: 'build',
  command: ['sh', '-c', script],
  cwd: work('app'),
  env,
})
const sendApp = (): BuildAction => ({ do: 'send', name: 'app', from: work('app'), exclude: 'node_modules' })

describe('the container of a build', () => {
  test('sends the output immediately, and the result without excluded entries and links that leave the folder', async () => {
    const script =
      'echo a; echo b >&2; mkdir -p node_modules lib; ln -s /etc x; ln -s ../package.json lib/y; echo $PATH'
    const { events, app, code } = await runContainer([fetchSource(), run(script), sendApp()])
    expect(code).toBe(0)
    expect(events).toEqual(
      expect.arrayContaining([
        ['start', 'build'],
        ['line', 'a'],
        ['line', 'b'],
        ['line', env.PATH],
        ['exit', 0, false],
        ['omitted', 'x'],
      ]),
    )
    expect(readdirSync(app?.dir ?? '').sort()).toEqual(['lib', 'package.json'])
    expect(lstatSync(join(app?.dir ?? '', 'lib/y')).isSymbolicLink()).toBe(true)
  })

  test('sends files that the dependencies of development and production share once, and fetches those of development', async () => {
    const long = `${'long-name/'.repeat(30)}x`
    const actions: BuildAction[] = [
      fetchSource(),
      { do: 'write', file: work('full/a/x.js'), content: 'x'.repeat(300_000) },
      { do: 'write', file: work('full', long), content: 'long' },
      { do: 'write', file: work('full/.lock.json'), content: '{}' },
      { do: 'clone', from: work('full'), to: work('production') },
      run(
        'cd ..; echo "{1}" > production/.lock.json; echo dev > full/dev; echo b > production/b; chmod +x full/a/x.js',
      ),
      run(
        'cd ..; ln -s a/x.js full/link; ln -s a/x.js production/link; ln -s /etc full/etc; mkfifo full/pipe; mkdir full/b',
      ),
      { do: 'send', name: 'dependencies', from: work() },
      { do: 'fetch', name: 'dependencies', to: work('fetched') },
    ]
    const { dependencies, code, events } = await runContainer(actions)
    expect(code).toBe(0)
    expect(statSync(join(folder, 'stored', DEPENDENCIES_ARCHIVE)).size).toBeLessThan(400_000)
    const production = join(dependencies ?? '', 'production')
    expect(readdirSync(production).sort()).toEqual(['.lock.json', 'a', 'b', 'link', 'long-name'])
    expect(readFileSync(join(production, '.lock.json'), 'utf8')).toBe('{1}\n')
    expect(readFileSync(join(production, long), 'utf8')).toBe('long')
    expect(readdirSync(work('fetched')).sort()).toEqual(['.lock.json', 'a', 'b', 'dev', 'link', 'long-name'])
    expect(readFileSync(work('fetched/.lock.json'), 'utf8')).toBe('{}')
    expect(readFileSync(work('fetched/link'), 'utf8')).toBe('x'.repeat(300_000))
    expect(lstatSync(work('fetched/link')).isSymbolicLink()).toBe(true)
    expect(lstatSync(work('fetched/a/x.js')).mode & 0o777).toBe(0o755)
    expect(lstatSync(work('fetched/b')).isDirectory()).toBe(true)
    expect(events.filter(([kind]) => kind === 'omitted')).toEqual([['omitted', 'etc']])
  })

  test('sends folders that share many files by hard links', async () => {
    const script = `mkdir -p full/lib production/lib
      for i in 1 2 3 4 5 6 7 8; do
        mkdir full/$i production/$i; echo $i > full/lib/$i; echo $i > full/$i/file
        ln full/lib/$i production/lib/$i; ln full/$i/file production/$i/file
      done`
    const { app, code } = await runContainer([fetchSource(), run(script), sendApp()])
    expect(code).toBe(0)
    for (const name of ['full', 'production'])
      expect(readFileSync(join(app?.dir ?? '', name, '8/file'), 'utf8')).toBe('8\n')
  })

  test('ends when a program fails, and kills the processes that it left', async () => {
    const { events, app, code } = await runContainer([
      fetchSource(),
      run(`sleep 1000 & echo $! > ${join(folder, 'pid')}; exit 7`),
      sendApp(),
    ])
    expect(events.at(-1)).toEqual(['exit', 7, false])
    expect([app, code]).toEqual([null, 1])
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
    await expect
      .poll(() => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      .toBeFalsy()
  })

  test('performs the `orElse` actions of a program that fails', async () => {
    const failing = { ...run('exit 1'), orElse: [{ do: 'write' as const, file: work('app/else'), content: 'x' }] }
    const { app, code } = await runContainer([fetchSource(), failing, sendApp()])
    expect(code).toBe(0)
    expect(existsSync(join(app?.dir ?? '', 'else'))).toBe(true)
  })

  test('shares files between clones, except for those that package managers rewrite', async () => {
    const actions: BuildAction[] = [
      { do: 'write', file: work('full/a/x.js'), content: 'x' },
      { do: 'write', file: work('full/.lock.json'), content: '{}' },
      { do: 'clone', from: work('full'), to: work('production') },
      { do: 'move', from: work('none'), to: work('app') },
      sendApp(),
    ]
    expect((await runContainer(actions)).code).toBe(0)
    const inode = (...names: string[]) => lstatSync(work(...names)).ino
    expect(inode('full/a/x.js')).toBe(inode('production/a/x.js'))
    expect(inode('full/.lock.json')).not.toBe(inode('production/.lock.json'))
  })

  test('ends when the connection to its worker ends', async () => {
    const { code, events } = await runContainer(
      [fetchSource(), run('echo started; sleep 1000')],
      ({ events, revoke }) => {
        if (events.some(([kind, line]) => kind === 'line' && line === 'started')) revoke()
      },
    )
    expect(code).toBe(1)
    expect(events).not.toContainEqual(['exit', expect.anything(), expect.anything()])
  })

  test('reports a missing command as a shell does', async () => {
    const { events } = await runContainer([fetchSource(), { ...run(''), command: ['no-such-command'] } as BuildAction])
    expect(events.at(-1)).toEqual(['exit', 127, false])
  })
})

describe('the server of builds', () => {
  const request = (method: string, name: string, token: string, body?: string) =>
    fetch(`http://127.0.0.1:${server.port}/${name}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    }).then(({ status }) => status)
  const container: BuildContainer = {
    actions: [],
    open: () => null,
    receive: () => async () => undefined,
    readEvents: async () => true,
  }

  test('serves each request of a token once, and none after the token was revoked', async () => {
    const { token, revoke } = server.admit(container)
    expect(await request('GET', 'actions', 'another')).toBe(401)
    expect(await request('GET', 'actions', token)).toBe(200)
    expect(await request('GET', 'actions', token)).toBe(409)
    expect(await request('GET', 'source', token)).toBe(404)
    expect(await request('DELETE', 'app', token)).toBe(404)
    expect(await request('PUT', 'app', token, 'x')).toBe(200)
    revoke()
    expect(await request('POST', 'events', token, 'x')).toBe(401)
  })

  test('ignores invalid events, and limits the length of lines', async () => {
    const lines: string[] = []
    const events = {
      onStart: () => undefined,
      onExit: () => undefined,
      onOmitted: () => undefined,
      onData: () => undefined,
    }
    const { token } = server.admit({
      ...container,
      readEvents: (stream) => readBuildEvents(stream, { ...events, onLine: (line) => lines.push(line) }),
    })
    const body = ['nonsense', '[1]', 'null', '{"exit":"0"}', '{"start":"format the disk"}', '{"stdout":"x\\n"}']
    const long = JSON.stringify({ stdout: `${'y'.repeat(1_000_000)}\n` })
    expect(await request('POST', 'events', token, [...body, long, '{"done":true}', ''].join('\n'))).toBe(200)
    expect(lines).toEqual(['x'])
  })
})
