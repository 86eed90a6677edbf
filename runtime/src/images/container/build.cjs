'use strict'
// The first process of a build's container: fetches its actions from the worker, performs them, and sends the output and the result.
// Programs of the squid run as the same user, so the worker trusts nothing that this process sends.
// environment: SHOAL_BUILD_URL, SHOAL_BUILD_TOKEN (valid for this container only)
const { spawn } = require('node:child_process')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const { Readable } = require('node:stream')
const { pipeline } = require('node:stream/promises')
const { setTimeout: delay } = require('node:timers/promises')
const { packDependencies, unpackFull } = require('./build-trees.cjs')

/** The `tar` package of the toolchain's npm. */
const TAR = process.env.SHOAL_BUILD_TAR || '/shoal/toolchain/node_modules/npm/node_modules/tar'
/** A network policy may take this long to permit connections to the worker after the container has started. */
const CONNECT_MS = 120_000
/** The worker considers a build lost if it receives no event for a while. */
const PING_MS = 5000
/** Maximum output in one event, which keeps the event below the worker's maximum length of a line. */
const PIECE_CHARACTERS = 8 * 1024

const url = process.env.SHOAL_BUILD_URL
const token = process.env.SHOAL_BUILD_TOKEN

/** Sends a request. Resolves with the response. `body`: a stream, or null. */
function send(method, name, body) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const request = http.request(`${url}/${name}`, { method, headers, agent: false })
    request.on('socket', (socket) => socket.setKeepAlive(true, 10_000))
    request.on('response', resolve)
    request.on('error', reject)
    if (body === null) request.end()
    else pipeline(body, request).catch(reject)
  })
}

/** Like `send`. @throws Error if the worker refuses the request */
async function request(method, name, body = null) {
  const response = await send(method, name, body)
  if (response.statusCode === 200) return response
  response.resume()
  throw new Error(`The worker responded to ${method} ${name} with status ${response.statusCode}`)
}

async function textOf(response) {
  const chunks = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Fetches the actions of this container. Repeats the request for `CONNECT_MS` while the worker cannot be reached. */
async function fetchActions() {
  for (const startedAt = Date.now(); ;) {
    try {
      const response = await send('GET', 'actions', null)
      if (response.statusCode === 200) return JSON.parse(await textOf(response))
      response.resume()
      throw Object.assign(new Error(`The worker responded with status ${response.statusCode}`), { isFinal: true })
    } catch (error) {
      if (error.isFinal || Date.now() - startedAt > CONNECT_MS) throw error
      await delay(500)
    }
  }
}

/** Opens the stream of events to the worker. This process exits when the worker responds at its end, or when it fails. */
function openEvents() {
  const stream = http.request(`${url}/events`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/jsonl' },
  })
  stream.on('socket', (socket) => socket.setNoDelay(true))
  stream.on('error', (error) => fail(error))
  stream.on('response', (response) => process.exit(response.statusCode === 200 ? 0 : 1))
  stream.flushHeaders()
  const ping = setInterval(() => stream.write('{}\n'), PING_MS)
  return {
    /** Writes an event. Resolves when another one may be written. */
    emit: (event) =>
      stream.write(`${JSON.stringify(event)}\n`)
        ? Promise.resolve()
        : new Promise((resolve) => stream.once('drain', resolve)),
    end: () => {
      clearInterval(ping)
      stream.end()
    },
  }
}

function fail(error) {
  console.error(error.message)
  process.exit(1)
}

/** The number of processes of this container that were killed because its memory was used up: cgroup v2, or v1. */
function oomKills() {
  for (const file of ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control']) {
    try {
      const [, count] = /^oom_kill (\d+)$/m.exec(fs.readFileSync(file, 'utf8')) ?? []
      if (count !== undefined) return Number(count)
    } catch {
      // The other version is in use.
    }
  }
  return 0
}

/** Runs a program to its end, and kills the processes it leaves. Resolves with its exit code: 128 + n for signal n. */
async function run({ command, cwd, env }, emit) {
  const [program, ...args] = command
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => {
    child.on('error', (error) => resolve(error.code === 'ENOENT' ? 127 : 126))
    child.on('exit', (code, signal) => resolve(code ?? 128 + os.constants.signals[signal]))
  })
  const copy = async (output, kind) => {
    output.setEncoding('utf8')
    for await (const text of output)
      for (let from = 0; from < text.length; from += PIECE_CHARACTERS)
        await emit({ [kind]: text.slice(from, from + PIECE_CHARACTERS) })
  }
  const copied = Promise.allSettled([copy(child.stdout, 'stdout'), copy(child.stderr, 'stderr')])
  const killChild = () => killAll(child.pid)
  process.on('exit', killChild)
  const code = await ended
  killChild()
  process.off('exit', killChild)
  await copied
  return code
}

/** Kills all other processes of the container, or, if this is not its first process, those of `group`. */
function killAll(group) {
  try {
    process.kill(process.pid === 1 ? -1 : -group, 'SIGKILL')
  } catch {
    // There are none.
  }
}

/** Copies a folder with hard links, except for the files that package managers rewrite. */
function clone(from, to, relative = '') {
  fs.mkdirSync(to, { recursive: true })
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    const name = path.join(relative, entry.name)
    if (entry.isDirectory()) clone(source, target, name)
    else if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), target)
    else if (/^\.[^/]+$/.test(name) || name === '.pnpm/lock.yaml') fs.copyFileSync(source, target)
    else if (entry.isFile()) fs.linkSync(source, target)
  }
}

/** Moves a folder. Creates an empty one if `from` does not exist. */
function move(from, to) {
  fs.mkdirSync(path.dirname(to), { recursive: true })
  try {
    fs.renameSync(from, to)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    fs.mkdirSync(to)
  }
}

/** Replaces a file, or a link that a build may have created at its path. */
function write(file, content) {
  fs.rmSync(file, { recursive: true, force: true })
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, content)
}

/** Returns whether an entry of `folder` is sent: a file, a folder, or a link that stays in the folder. Reports other links to the worker. */
function isSent(folder, relative, stats, emit) {
  if (!stats.isSymbolicLink()) return stats.isFile() || stats.isDirectory()
  const target = fs.readlinkSync(path.join(folder, relative))
  const resolved = path.normalize(path.join(path.dirname(relative), target))
  const isInside = !path.isAbsolute(target) && resolved !== '..' && !resolved.startsWith('../')
  if (!isInside) void emit({ omitted: relative.slice(0, 1000) })
  return isInside
}

/** Returns the archive of a `send` action. */
function packed(tar, { name, from, exclude }, emit) {
  if (name === 'dependencies') return Readable.from(packDependencies(tar, from, (...entry) => isSent(...entry, emit)))
  const filter = (file, stats) => {
    const relative = path.normalize(file)
    return relative !== exclude && isSent(from, relative, stats, emit)
  }
  // With more than one job, tar waits forever if many files are hard links to each other.
  return tar.create({ cwd: from, gzip: { level: 1 }, jobs: 1, portable: true, filter }, ['.'])
}

/** Performs actions in order. Resolves with false, without the rest, if a program fails and its action has no `orElse`. */
async function perform(actions, emit) {
  const tar = require(TAR)
  for (const action of actions) {
    if (action.do === 'fetch') {
      fs.mkdirSync(action.to, { recursive: true })
      const response = await request('GET', action.name)
      if (action.name === 'dependencies') await unpackFull(tar, response, action.to)
      else await pipeline(response, tar.extract({ cwd: action.to }))
    } else if (action.do === 'run') {
      const before = oomKills()
      await emit({ start: action.step })
      const exit = await run(action, emit)
      await emit({ exit, outOfMemory: oomKills() > before })
      if (exit !== 0 && action.orElse === undefined) return false
      if (exit !== 0 && !(await perform(action.orElse, emit))) return false
    } else if (action.do === 'send') {
      const response = await request('PUT', action.name, packed(tar, action, emit))
      response.resume()
    } else if (action.do === 'clone') clone(action.from, action.to)
    else if (action.do === 'move') move(action.from, action.to)
    else if (action.do === 'write') write(action.file, action.content)
    else if (action.do === 'remove') fs.rmSync(action.path, { recursive: true, force: true })
  }
  return true
}

async function main() {
  process.on('SIGTERM', () => process.exit(143))
  const actions = await fetchActions()
  const events = openEvents()
  if (await perform(actions, events.emit)) await events.emit({ done: true })
  events.end()
}

main().catch(fail)
