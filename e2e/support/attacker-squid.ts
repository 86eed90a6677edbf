import { execFileSync } from 'node:child_process'
import { bareManifest, makeBareSquid } from './bare-squid.ts'

/** The result of each attack by its name: `refused`, or a short text about what the attack could do. */
export type AttackResults = Record<string, string>

/** The source of the attacks on the machine. Each receives the values of the request, and returns its result. */
const attacksSource = `
const fs = require('node:fs')
const { spawn, spawnSync } = require('node:child_process')

const attempt = (work, done = 'done') => { try { work(); return done } catch (error) { return 'refused' } }
const run = (command, ...args) => spawnSync(command, args, { timeout: 20_000 }).status === 0 ? 'done' : 'refused'
const writable = (path) => attempt(() => fs.closeSync(fs.openSync(path, 'r+')))
const created = (path) => attempt(() => { fs.writeFileSync(path, 'x'); fs.rmSync(path) })
const readable = (path) => attempt(() => fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path))
const pids = () => fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name))
const status = () => fs.readFileSync('/proc/self/status', 'utf8')

const attacks = {
  'creates a user namespace': () => run('unshare', '--user', '--map-root-user', 'true'),
  'mounts a file system': () => run('unshare', '--user', '--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', '/tmp'),
  'becomes root': () => attempt(() => process.setuid(0)),
  'runs a setuid program': () => {
    const found = spawnSync('find', ['/usr/bin', '-perm', '-4000', '-name', 'su'], { encoding: 'utf8' }).stdout.trim()
    return found !== '' && run(found, '--command', 'id', 'root') === 'done' ? 'done' : 'refused'
  },
  'has privileges': () => /NoNewPrivs:\\t1/.test(status()) && /CapEff:\\t0+\\n/.test(status()) && /CapBnd:\\t0+\\n/.test(status()) ? 'refused' : 'done',
  'creates a device': () => run('mknod', process.env.HOME + '/disk', 'b', '8', '0'),
  'leaves its cgroup': () => {
    const files = ['/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/memory/cgroup.procs', '/sys/fs/cgroup/pids/cgroup.procs']
    return files.some((file) => writable(file) === 'done') ? 'done' : 'refused'
  },
  'changes the kernel': () =>
    ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/sys/vm/panic_on_oom'].some((file) => writable(file) === 'done') ? 'done' : 'refused',
  'dumps core': () => run('/bin/sh', '-c', 'ulimit -c 1'),
  'opens files without limit': () => {
    const opened = []
    try { for (;;) opened.push(fs.openSync('/dev/null')) } catch (error) { return error.code + ' ' + (opened.length < 8192) }
    finally { for (const file of opened) fs.closeSync(file) }
  },
  'fills /tmp': () => {
    const files = []
    try {
      for (let i = 0; i < 300; i++) { const file = '/tmp/fill-' + i; fs.writeFileSync(file, Buffer.alloc(1 << 20, 1)); files.push(file) }
      return 'done'
    } catch (error) { return error.code === 'ENOSPC' ? 'refused' : error.code }
    finally { for (let i = 0; i < 301; i++) fs.rmSync('/tmp/fill-' + i, { force: true }) }
  },
  'writes to the host': () => ['/usr/x', '/etc/x', '/dev/x', '/x', '/var/x'].some((path) => created(path) === 'done') ? 'done' : 'refused',
  'sees the server': () => pids().some((pid) => { try { return fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes('server/src/main.ts') } catch { return false } }) ? 'done' : 'refused',
  'signals the server': ({ server }) => attempt(() => process.kill(Number(server), 0)),
  'reads environments of others': () => pids().some((pid) => { try { return fs.readFileSync('/proc/' + pid + '/environ', 'utf8').includes('secret-of-victims') } catch { return false } }) ? 'done' : 'refused',
  'reads the private files of the host': ({ private: paths }) => paths.some((path) => readable(path) === 'done') ? 'done' : 'refused',
  'reads the public files of the host': ({ public: path }) => readable(path),
  'lists sockets of others': ({ sockets }) => fs.readFileSync('/proc/net/unix', 'utf8').includes(sockets) ? 'done' : 'refused',
  'own secret': () => process.env.SECRET,
  'own sockets': () => process.env.SHOAL_SOCKETS,
  'forks without limit': () => new Promise((resolve) => {
    const children = []
    const next = () => {
      const child = spawn('sleep', ['60'], { stdio: 'ignore' })
      child.on('error', () => { for (const { pid } of children) try { process.kill(pid, 'SIGKILL') } catch {} ; resolve('refused after ' + (children.length < 512 ? 'less than 512' : 'more')) })
      child.on('spawn', () => { children.push(child); children.length < 3000 ? next() : resolve('done') })
    }
    next()
  }),
  'exhausts memory': () => new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', 'const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1))'], { stdio: 'ignore' })
    child.on('exit', (code, signal) => resolve(signal === 'SIGKILL' ? 'refused' : 'ended with ' + code))
  }),
}
`

const api = `${attacksSource}
const http = require('node:http')
http.createServer(async (request, response) => {
  const { searchParams } = new URL(request.url, 'http://squid')
  const given = { server: searchParams.get('server'), private: searchParams.getAll('private'), public: searchParams.get('public'), sockets: searchParams.get('sockets') }
  const results = {}
  for (const name of searchParams.getAll('attack')) results[name] = await attacks[name](given)
  response.end(JSON.stringify(results))
}).listen(process.env.GQL_PORT)
`

/** Prefix of the log line with the results of the build's attacks: JSON of `AttackResults` in base64. */
export const attackResultsPrefix = 'results of the attacks: '

/** Source of a build script that runs the attacks which need no values of a request, and prints their results. */
const buildSource = `${attacksSource}
const names = ['creates a user namespace', 'mounts a file system', 'becomes root', 'has privileges', 'creates a device', 'writes to the host', 'sees the server', 'opens files without limit']
console.log(${JSON.stringify(attackResultsPrefix)} + Buffer.from(JSON.stringify(Object.fromEntries(names.map((name) => [name, attacks[name]({})])))).toString('base64'))
`

/**
 * Runs the attacks in a program without confinement, as the user who runs the tests, to show that they succeed there.
 *
 * @param home the program's HOME
 * @param given the values that some attacks use, such as the process id of the server, by name
 */
export function attackUnconfined(names: string[], home: string, given: Record<string, unknown> = {}): AttackResults {
  const source = `${attacksSource}
const [names, given] = JSON.parse(process.argv[1])
process.stdout.write(JSON.stringify(Object.fromEntries(names.map((name) => [name, attacks[name](given)]))))`
  const env = { PATH: process.env['PATH'], HOME: home }
  const output = execFileSync(process.execPath, ['-e', source, JSON.stringify([names, given])], { env })
  return JSON.parse(output.toString()) as AttackResults
}

const secretVariable = '  env:\n    SECRET: ${{ secrets.SECRET }}\n'

/**
 * Creates a squid whose api runs the attack in each query parameter `attack` of a request, and responds with `AttackResults`. The
 * squid has a secret. Its build also runs attacks.
 */
export const makeAttackerSquid = (name: string): string =>
  makeBareSquid(name, {
    'squid.yaml': bareManifest(name, secretVariable),
    'api.js': api,
    'build.js': buildSource,
    'package.json': JSON.stringify({ name, version: '1.0.0', private: true, scripts: { build: 'node build.js' } }),
  })
