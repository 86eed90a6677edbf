import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const WRAPPER = fileURLToPath(new URL('./wrapper.cjs', import.meta.url))

/** Runs `body` as a program, with helpers to start child processes in scope, and returns its exit code. */
function exitCodeOf(body: string, type = 'commonjs'): number | null {
  const imports =
    type === 'module'
      ? "import { spawn, spawnSync, execSync } from 'node:child_process'"
      : "const { spawn, spawnSync, execSync } = require('node:child_process')"
  const script = `${imports}
    const killed = ['-c', 'kill -KILL $$']
    const run = (words, stdio = 'inherit') => new Promise((done) => spawn('sh', words, { stdio }).on('exit', done))
    ${body}`
  const args = ['--require', WRAPPER, `--input-type=${type}`, '-e', script]
  return spawnSync(process.execPath, args, { timeout: 60_000, env: { PATH: process.env['PATH'] } }).status
}

test.each([
  ['it ends on its own', 'run(killed)'],
  ['it exits with 0', 'run(killed).then(() => process.exit(0))'],
  ['it exits with another code', 'run(killed).then(() => process.exit(1))'],
  ['a shell starts the child', "run(['-c', 'sh -c \"kill -KILL $$\"; exit $?'])"],
  ['only stderr is shared', "run(killed, ['ignore', 'pipe', 2])"],
  ['it runs the child synchronously', "spawnSync('sh', killed, { stdio: 'inherit' })"],
  [
    'it runs the child synchronously and catches the error',
    "try { execSync('kill -KILL $$', { stdio: 'inherit' }) } catch {}",
  ],
])('a program exits with the code of its killed child when %s', (_, body) => {
  expect(exitCodeOf(body)).toBe(137)
  expect(exitCodeOf(body, 'module')).toBe(137)
})

test.each([
  ['a later child succeeds', "run(killed).then(() => run(['-c', 'exit 0']))"],
  ['its child reports an error by exit code', "run(['-c', 'exit 3'])"],
  ['its child does not share its output', "run(killed, 'pipe')"],
  ['it killed its child itself', "spawn('sleep', ['60'], { stdio: 'inherit' }).kill()"],
  ['its child exceeded the timeout that it set', "spawnSync('sleep', ['60'], { stdio: 'inherit', timeout: 10 })"],
  [
    'it exits long after its child',
    'performance.now = ((now) => () => now() + (later ? 10_000 : 0))(performance.now.bind(performance)); var later = false; run(killed).then(() => { later = true })',
  ],
  [
    'a worker thread started the child',
    "new (require('node:worker_threads').Worker)(`require('node:child_process').spawnSync('sh', ['-c', 'kill -KILL $$'], { stdio: 'inherit' })`, { eval: true })",
  ],
])('a program keeps its own exit code when %s', (_, body) => {
  expect(exitCodeOf(body)).toBe(0)
})
