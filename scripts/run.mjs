// Runs one of the project's commands (`node scripts/run.mjs NAME …`) with the Node version it needs. Only this file must work
// with Node 20 and nothing installed: it installs the dependencies; all other code is TypeScript and runs with the Node from npm.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules/.bin')
const node = join(bin, 'node')
const neededNode = 24

/** Local defaults. `npm run devnet` is offered as RPC chain and dataset `devnet`, whether it is running or not. */
const tryOut = { SHOAL_ON_EXIT: 'stop', SHOAL_OUTBOX: 'true', SHOAL_DEVNET_URL: 'http://127.0.0.1:8545' }

/** `installs`: install missing dependencies first. Commands for production or beside a running server never do. */
const commands = {
  start: { file: 'scripts/start.ts', installs: true, env: tryOut },
  serve: { file: 'scripts/serve.ts', installs: false, env: { SHOAL_ON_EXIT: 'keep' } },
  shoal: { file: 'server/src/cli.ts', installs: false },
  dev: { file: 'scripts/dev.ts', installs: true, env: tryOut },
  devnet: { file: 'scripts/devnet.ts', installs: true },
  demo: { file: 'scripts/demo.ts', installs: true, env: tryOut },
  bench: { file: 'scripts/bench.ts', installs: true },
  check: { file: 'scripts/check.ts', installs: true },
  test: { file: 'scripts/test.ts', installs: true },
  'test:full': { file: 'scripts/test.ts', installs: true, env: { SHOAL_TEST_FULL: 'true' } },
  'test:fresh': { file: 'scripts/test-fresh.ts', installs: true },
}

function fail(message) {
  console.error(`\n${message}\n`)
  process.exit(1)
}

function checkMachine() {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20) fail(`Shoal needs Node 20 or newer to install; this is ${process.version}.`)
  if (process.platform === 'win32') fail('Shoal runs on Linux and macOS. On Windows, use it inside WSL.')
}

/** Compares the lockfile with npm's record of its last complete install, which npm writes at the very end. */
function isInstalled() {
  const required = readPackages('package-lock.json')
  const installed = readPackages('node_modules/.package-lock.json')
  if (!required || !installed) return false
  const isThere = ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version
  return Object.entries(required).every(isThere) && existsSync(node)
}

function readPackages(lockfile) {
  const path = join(root, lockfile)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : null
}

/** The user's environment without this project's node_modules, which npm may be about to replace. */
function environmentForNpm() {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.endsWith('node_modules/.bin'))
  const env = { ...process.env, PATH: path.join(delimiter) }
  for (const name of ['NODE', 'npm_execpath', 'npm_node_execpath']) delete env[name]
  return env
}

const hints = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/,
    'The npm registry could not be reached: check the network, or `npm ping`.',
  ],
  [/ENOSPC/, 'The disk is full.'],
  [
    /EACCES|EPERM|EROFS|cache folder/,
    `npm lacks write permission: it needs this folder (${root}) and its cache ("npm config get cache").\n` +
      'To use another cache: npm_config_cache=/a/folder/you/own npm start',
  ],
]

async function install() {
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  console.error('Installing the dependencies with npm; the first time this takes about a minute …')
  const ticking = setInterval(() => console.error(`  … ${seconds()} s`), 10_000)
  // Not `npm ci`, which removes everything first, and rejects a lockfile made where the registry lacked another platform's
  // optional package. --no-save keeps package-lock.json unchanged. The log level is set because npm inherits that of `npm run -s`.
  const args = ['install', '--no-save', '--loglevel=error', '--no-audit', '--no-fund']
  const npm = spawn('npm', args, { cwd: root, env: environmentForNpm(), stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk))
  const problem = await new Promise((resolve) => {
    npm.once('error', (error) =>
      resolve(error.code === 'ENOENT' ? 'npm is not installed; it comes with Node.' : error.message),
    )
    npm.once('close', (code) => resolve(code === 0 ? null : `npm install ended with code ${code}.`))
  })
  clearInterval(ticking)
  if (problem) {
    const hint = hints.find(([pattern]) => pattern.test(output))?.[1] ?? ''
    fail(
      [output.trim().slice(-3000), `Could not install the dependencies: ${problem}`, hint].filter(Boolean).join('\n\n'),
    )
  }
  console.error(`Installed the dependencies in ${seconds()} s.`)
}

/** The `node` package gets its program from an install script, which a user's npm settings may forbid. */
function checkNode() {
  const version = existsSync(node) ? spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim() : ''
  if (Number(version.slice(1).split('.')[0]) >= neededNode) return
  fail(
    `npm installed no working Node ${neededNode} at node_modules/.bin/node (${version || 'missing'}).\n` +
      'Install scripts must be allowed (npm config get ignore-scripts), and Node must support this platform.',
  )
}

/** Replaces this process with the command if Node supports it; Node 20 runs it as a child and forwards signals. */
function become(file, env) {
  const args = [join(root, file), ...process.argv.slice(3)]
  const environment = { ...env, ...process.env, PATH: [bin, process.env.PATH].join(delimiter) }
  if (process.execve) process.execve(node, [node, ...args], environment)
  const child = spawn(node, args, { env: environment, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    const isForChildAlready = signal === 'SIGINT' && process.stdin.isTTY // Ctrl-C in a terminal goes to the whole group
    process.on(signal, () => isForChildAlready || child.kill(signal))
  }
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

checkMachine()
const [name] = process.argv.slice(2)
const command = Object.hasOwn(commands, name ?? '')
  ? commands[name]
  : fail(`Unknown command. Commands: ${Object.keys(commands).join(', ')}`)
if (!isInstalled()) {
  if (!command.installs) fail(`The dependencies are not installed or do not match package-lock.json. Run: npm install`)
  await install()
  checkNode()
}
become(command.file, command.env)
