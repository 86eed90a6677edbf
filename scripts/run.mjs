// Runs one of the project's commands (`node scripts/run.mjs NAME …`) with the Node version it needs. Only this file must work
// with Node 20 and without dependencies, since it installs them. All other code is TypeScript and runs with the Node of the package `node`.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules/.bin')
const node = join(bin, 'node')
const neededNode = 24

/** Settings for local use. They configure the chain of `npm run devnet` as the RPC chain `devnet` and the dataset `devnet`; it need not be running when Shoal starts. */
const localDefaults = {
  SHOAL_ON_EXIT: 'stop',
  SHOAL_OUTBOX: 'true',
  SHOAL_ALLOW_SHARED_NETWORK: 'true',
  SHOAL_DEVNET_URL: 'http://127.0.0.1:8545',
}

/** `installs`: the command installs missing dependencies first. Commands for production, or for use while a server is running, never do. */
const commands = {
  start: { file: 'scripts/start.ts', installs: true, env: localDefaults },
  serve: { file: 'scripts/serve.ts', installs: false, env: { SHOAL_ON_EXIT: 'keep' } },
  shoal: { file: 'server/src/cli.ts', installs: false },
  dev: { file: 'scripts/dev.ts', installs: true, env: localDefaults },
  devnet: { file: 'scripts/devnet.ts', installs: true },
  demo: { file: 'scripts/demo.ts', installs: true, env: localDefaults },
  bench: { file: 'scripts/bench.ts', installs: true },
  // Compares pictures of the console's components with stored ones.
  gallery: { file: 'scripts/gallery.ts', installs: true },
  // Takes screenshots of the console's pages.
  screens: { file: 'scripts/screens.ts', installs: true },
  check: { file: 'scripts/check.ts', installs: true },
  test: { file: 'scripts/test.ts', installs: true },
  'test:slow': { file: 'scripts/test.ts', installs: true, env: { SHOAL_TEST_SUITES: 'slow' } },
  'test:full': { file: 'scripts/test.ts', installs: true, env: { SHOAL_TEST_SUITES: 'full', SHOAL_TEST_FULL: 'true' } },
  'test:kubernetes': { file: 'scripts/test.ts', installs: true, env: { SHOAL_TEST_SUITES: 'kubernetes' } },
  'test:kubernetes:quick': { file: 'scripts/test.ts', installs: true, env: { SHOAL_TEST_SUITES: 'kubernetes quick' } },
  cluster: { file: 'scripts/cluster.ts', installs: true },
  release: { file: 'scripts/release.ts', installs: true },
  image: { file: 'scripts/image.ts', installs: true },
  sbom: { file: 'scripts/sbom.ts', installs: true },
  'verify-signatures': { file: 'scripts/verify-signatures.ts', installs: true },
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

/** Compares the lockfile with the record that npm writes at the end of an install, so that an interrupted install does not count. */
function isInstalled() {
  const required = readPackages('package-lock.json')
  const installed = readPackages('node_modules/.package-lock.json')
  if (!required || !installed) return false
  // The version of a workspace does not affect the installed packages.
  const isWorkspace = (path) => !path.includes('node_modules/')
  const isPresent = ([path, { version, optional }]) =>
    isWorkspace(path) || (optional && !installed[path]) || installed[path]?.version === version
  return Object.entries(required).every(isPresent) && existsSync(node)
}

function readPackages(lockfile) {
  const path = join(root, lockfile)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : null
}

/** Returns the user's environment without this project's node_modules, which npm may be about to replace. */
function environmentForNpm() {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.endsWith('node_modules/.bin'))
  const env = { ...process.env, PATH: path.join(delimiter) }
  for (const name of ['NODE', 'npm_execpath', 'npm_node_execpath']) delete env[name]
  return env
}

const hints = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/,
    'npm could not reach the registry. Check the network, for example with `npm ping`.',
  ],
  [/ENOSPC/, 'The disk is full.'],
  [
    /EACCES|EPERM|EROFS|cache folder/,
    `npm lacks write permission: it needs this folder (${root}) and its cache ("npm config get cache").\n` +
      'To use another cache, run: npm_config_cache=/a/folder/you/own npm start',
  ],
]

async function install() {
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  console.error('Installing the dependencies with npm; the first time this takes about a minute …')
  const ticking = setInterval(() => console.error(`  … ${seconds()} s`), 10_000)
  // `npm ci` would first remove all packages, and would reject a lockfile that lacks optional packages of other platforms, as
  // lockfiles do if the registry lacked these packages. --no-save keeps package-lock.json unchanged. The log level is set because npm inherits that of `npm run -s`.
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

/** Exits if the package `node` has no program. Its install script creates the program, and a user's npm settings may forbid such scripts. */
function checkNode() {
  const version = existsSync(node) ? spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim() : ''
  if (Number(version.slice(1).split('.')[0]) >= neededNode) return
  fail(
    `npm installed no working Node ${neededNode} at node_modules/.bin/node (${version || 'missing'}).\n` +
      'Install scripts must be allowed (npm config get ignore-scripts), and Node must support this platform.',
  )
}

/** Replaces this process with the command if Node supports it; Node 20 runs it as a child and forwards signals. */
function replaceProcess(file, env) {
  const args = [join(root, file), ...process.argv.slice(3)]
  const environment = { ...env, ...process.env, PATH: [bin, process.env.PATH].join(delimiter) }
  if (process.execve) process.execve(node, [node, ...args], environment)
  const child = spawn(node, args, { env: environment, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    const childGetsSignal = signal === 'SIGINT' && process.stdin.isTTY // A terminal sends Ctrl-C to the whole process group.
    process.on(signal, () => childGetsSignal || child.kill(signal))
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
replaceProcess(command.file, command.env)
