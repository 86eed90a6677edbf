import { makeBareSquid } from './bare-squid.ts'

/** Source of each attack, which repeats until the processor is stopped. */
export const attacks = {
  'eats memory': `
const chunks = []
setInterval(() => chunks.push(Buffer.alloc(20 << 20, 1)), 10)`,
  'forks without end': `
const { spawn } = require('node:child_process')
setInterval(() => {
  for (let i = 0; i < 50; i++) spawn('sleep', ['1000'], { stdio: 'ignore' }).on('error', () => undefined)
}, 10)`,
  'floods its log': `
const lines = ('x'.repeat(200) + '\\n').repeat(500)
const write = () => process.stdout.write(lines, write)
write()`,
}

export type Attack = keyof typeof attacks

/** Creates a squid whose processor attacks ten seconds after its start, when the deployment is complete. */
export const makeHostileSquid = (name: string, attack: Attack): string =>
  makeBareSquid(name, {
    'processor.js': `setTimeout(() => {${attacks[attack]}\n}, 10_000)\nsetInterval(() => undefined, 60_000)\n`,
  })
