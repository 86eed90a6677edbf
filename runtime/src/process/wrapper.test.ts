import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const WRAPPER = fileURLToPath(new URL('./wrapper.cjs', import.meta.url))

/** Exit code of a program that starts others, with helpers in scope. */
function endOf(body: string, type = 'commonjs'): number | null {
  const imports =
    type === 'module'
      ? "import { spawn, spawnSync, execSync } from 'node:child_process'"
      : "const { spawn, spawnSync, execSync } = require('node:child_process')"
  const script = `${imports}
    const killed = ['-c', 'kill -KILL $$']
    const run = (words, stdio = 'inherit') => new Promise((done) => spawn('sh', words, { stdio }).on('exit', done))
    ${body}`
  const words = ['--require', WRAPPER, `--input-type=${type}`, '-e', script]
  return spawnSync(process.execPath, words, { timeout: 20_000, env: { PATH: process.env['PATH'] } }).status
}

test.each([
  ['it ends by itself', 'run(killed)'],
  ['it ends with 0', 'run(killed).then(() => process.exit(0))'],
  ['it ends with a code of its own', 'run(killed).then(() => process.exit(1))'],
  ['there is a shell in between', "run(['-c', 'sh -c \"kill -KILL $$\"; exit $?'])"],
  ['only its errors are shared', "run(killed, ['ignore', 'pipe', 2])"],
  ['it waits for the end', "spawnSync('sh', killed, { stdio: 'inherit' })"],
  ['it waits and catches', "try { execSync('kill -KILL $$', { stdio: 'inherit' }) } catch {}"],
])('a program exits with the code of its killed child when %s', (_, body) => {
  expect(endOf(body)).toBe(137)
  expect(endOf(body, 'module')).toBe(137)
})

test.each([
  ['another one ended well after it', "run(killed).then(() => run(['-c', 'exit 0']))"],
  ['what it started told its error', "run(['-c', 'exit 3'])"],
  ['its output is not shared', "run(killed, 'pipe')"],
  ['it killed it', "spawn('sleep', ['60'], { stdio: 'inherit' }).kill()"],
  ['it gave it too little time', "spawnSync('sleep', ['60'], { stdio: 'inherit', timeout: 10 })"],
  [
    'it went on for long',
    'performance.now = ((now) => () => now() + (later ? 10_000 : 0))(performance.now.bind(performance)); var later = false; run(killed).then(() => { later = true })',
  ],
  [
    'a thread of it ran it',
    "new (require('node:worker_threads').Worker)(`require('node:child_process').spawnSync('sh', ['-c', 'kill -KILL $$'], { stdio: 'inherit' })`, { eval: true })",
  ],
])('a program keeps its own exit code when %s', (_, body) => {
  expect(endOf(body)).toBe(0)
})
