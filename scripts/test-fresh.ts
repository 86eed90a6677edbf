import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { freePort } from '../e2e/support/free-port.ts'
import { endCommandsOnSignal, runCommand } from './command.ts'
import { makeFreshClone, removeFreshClone, type FreshClone } from './fresh-clone.ts'

const usage = `Runs the two commands of the README as on a new machine: in a fresh clone of the committed files, with an empty home, temporary
folder and npm cache. If you are root, it runs them twice: as a temporary ordinary user, and as root.

  npm run test:fresh [-- [--as user|root] [--only start|test] [PATH…]]

PATH… selects tests; by default npm test runs all of them.`

type Outcome = { title: string; seconds: number; problem: string | null }

const outcomes: Outcome[] = []
const clones: FreshClone[] = []

async function attempt(title: string, work: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now()
  console.log(`\n=== ${title} ===`)
  const problem = await work().then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  outcomes.push({ title, seconds, problem })
}

/** Runs `npm start`, waits until the console and the gateway respond, and sends SIGINT. @throws if the start or the shutdown fails */
async function tryStart(fresh: FreshClone): Promise<void> {
  const [port, gatewayPort] = [await freePort(), await freePort()]
  const env = { ...fresh.env, SHOAL_PORT: String(port), SHOAL_GATEWAY_PORT: String(gatewayPort) }
  const [file = '', ...args] = fresh.as('npm', 'start')
  const child = spawn(file, args, { cwd: fresh.clone, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      process.stdout.write(text)
    })
  }
  const ended = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? String(code))))
  try {
    const deadline = performance.now() + 600_000
    while (!output.includes('Shoal is ready')) {
      if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode} before it was ready`)
      if (performance.now() > deadline) throw new Error('npm start was not ready within ten minutes')
      await new Promise((done) => setTimeout(done, 200))
    }
    for (const url of [`http://localhost:${port}/`, `http://localhost:${gatewayPort}/readyz`]) {
      const { status } = await fetch(url)
      if (status !== 200) throw new Error(`${url} returned ${status}`)
    }
    process.kill(-(child.pid ?? 0), 'SIGINT')
    // As in a terminal, npm receives the signal too. It either ends immediately or waits for its children.
    const exit = await ended
    if (!['0', 'SIGINT', '130'].includes(exit)) throw new Error(`npm start ended with ${exit} after Ctrl-C`)
    const remaining = await fresh.processes()
    if (remaining.length > 0) throw new Error(`npm start left processes behind:\n${remaining.join('\n')}`)
  } finally {
    await fresh.endProcesses()
  }
}

async function tryTest(fresh: FreshClone, paths: string[]): Promise<void> {
  const [file = '', ...args] = fresh.as('npm', 'test', ...(paths.length > 0 ? ['--', ...paths] : []))
  const { code } = await runCommand(file, args, { cwd: fresh.clone, env: fresh.env, inheritsOutput: true })
  if (code !== 0) throw new Error(`npm test ended with ${code}`)
  const remaining = await fresh.processes()
  if (remaining.length > 0) throw new Error(`npm test left processes behind:\n${remaining.join('\n')}`)
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { as: { type: 'string' }, only: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) return console.log(usage)
  const isRoot = process.getuid?.() === 0
  // The ordinary user comes first, because both users can use Debian packages that root installs.
  const kinds = (isRoot ? (['user', 'root'] as const) : (['self'] as const)).filter(
    (k) => !values.as || k === values.as,
  )
  for (const kind of kinds) {
    const fresh = await makeFreshClone(kind)
    clones.push(fresh)
    if (values.only !== 'test') await attempt(`npm start as ${fresh.user}`, () => tryStart(fresh))
    if (values.only !== 'start') await attempt(`npm test as ${fresh.user}`, () => tryTest(fresh, positionals))
    await attempt(`removing the clone of ${fresh.user}`, () => removeFreshClone(fresh))
    clones.pop()
  }
  console.log('\n')
  for (const { title, seconds, problem } of outcomes)
    console.log(`${problem ? '✗' : '✓'} ${title} ${seconds} s${problem ? `: ${problem}` : ''}`)
  const failed = outcomes.filter(({ problem }) => problem).length
  console.log(`${outcomes.length - failed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

endCommandsOnSignal(() => {
  for (const fresh of clones) rmSync(fresh.folder, { recursive: true, force: true })
})
await main()
