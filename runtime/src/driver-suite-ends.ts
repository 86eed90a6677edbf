import type { RunOutcome } from './driver.ts'
import type { Expected } from './driver-suite.ts'

/** The exit code of a killed program. */
export const KILLED = 137

/** The source of a squid’s program. The environment variable ENDING controls how it ends; `never`: it runs until it is stopped. */
export const PROGRAM = `
const { spawn } = require('node:child_process')
const { ENDING } = require('node:process').env
const fill = () => { for (const all = []; ; ) all.push(Buffer.alloc(1024 * 1024, 1)) }
console.log('up')
if (process.argv[2] === 'fill') fill()
else if (ENDING === 'exit 0' || ENDING === 'exit 3') process.exitCode = Number(ENDING.at(-1))
else if (ENDING.startsWith('SIG')) process.kill(process.pid, ENDING)
else if (ENDING === 'out of memory') fill()
else {
  // The kernel kills this child first, regardless of its size.
  if (ENDING === 'child out of memory') spawn('sh', ['-c', 'echo 1000 >/proc/self/oom_score_adj; exec node main.cjs fill'], { stdio: 'inherit' })
    .on('exit', (code, signal) => console.log('child', code ?? signal))
  setInterval(() => {}, 60_000)
}
`

/** The files of the squid besides `main.cjs`. */
export const FILES = {
  'package.json': JSON.stringify({ name: 'squid', version: '1.0.0', scripts: { process: 'node main.cjs' } }),
  'commands.json': JSON.stringify({
    commands: {
      migration: { cmd: ['node', '-e', ''] },
      process: { cmd: ['node', 'main.cjs'] },
      'process:prod': { deps: ['migration'], cmd: ['node', 'main.cjs'] },
    },
  }),
}

/** The commands with which squids start their programs. */
export const WRAPPERS = {
  'sqd process': ['sqd', 'process'],
  'sqd process:prod': ['sqd', 'process:prod'],
  'npm run': ['npm', 'run', 'process'],
  npx: ['npx', 'node', 'main.cjs'],
  'sh -c': ['sh', '-c', 'node main.cjs'],
  node: ['node', 'main.cjs'],
}

type ExpectedEnd = Expected & { lastRun: { exitCode: number; how: RunOutcome; oomKills: number } }

export const DONE: ExpectedEnd = { state: 'finished', lastRun: { exitCode: 0, how: 'done', oomKills: 0 }, reason: null }
/** Returns the observation of a program that ended in this way and is restarted. */
export const crash = (exitCode: number, reason: string): ExpectedEnd => ({
  state: 'backoff',
  lastRun: { exitCode, how: 'error', oomKills: 0 },
  reason,
})

/** How the program ends, and the expected observation. `killSignal`: the signal that ends it, which a test may also send from outside. */
export const ENDINGS: { ending: string; killSignal?: NodeJS.Signals; expected: ExpectedEnd }[] = [
  { ending: 'exit 0', expected: DONE },
  { ending: 'exit 3', expected: crash(3, 'It ended with exit code 3') },
  { ending: 'SIGKILL', killSignal: 'SIGKILL', expected: crash(KILLED, 'It was ended by SIGKILL') },
  { ending: 'SIGTERM', killSignal: 'SIGTERM', expected: crash(143, 'It was ended by SIGTERM') },
  { ending: 'SIGSEGV', expected: crash(139, 'It was ended by SIGSEGV') },
  {
    ending: 'out of memory',
    expected: {
      ...crash(KILLED, 'It used more memory than its profile allows and was stopped'),
      lastRun: { exitCode: KILLED, how: 'oom', oomKills: 1 },
    },
  },
]

/** A shell that hides how its child ended. */
export const SHELL_HIDING_ENDING = {
  command: ['sh', '-c', 'node main.cjs; exit 0'],
  expected: ENDINGS.find(({ ending }) => ending === 'out of memory')?.expected ?? DONE,
}

export type Wrapper = keyof typeof WRAPPERS

/** Whether a test includes the combination: each wrapper with two endings, and `node` with all. `isFull`: all combinations. */
export const isTested = (wrapper: Wrapper, ending: string, isFull: boolean): boolean => {
  const wrapperIndex = Object.keys(WRAPPERS).indexOf(wrapper)
  const endingIndex = ENDINGS.findIndex((other) => other.ending === ending)
  return isFull || wrapper === 'node' || (wrapperIndex + endingIndex) % 3 === 0
}
