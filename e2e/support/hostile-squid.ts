import { makeBareSquid } from './bare-squid.ts'

/** The source of each attack by its name. An attack repeats until the processor ends. */
export const attacks = {
  'exhausts memory': `
const chunks = []
setInterval(() => chunks.push(Buffer.alloc(20 << 20, 1)), 10)`,
  'forks without limit': `
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

/** Creates a squid whose processor starts the attack after ten seconds, when the deployment is complete. */
export const makeHostileSquid = (name: string, attack: Attack): string =>
  makeBareSquid(name, {
    'processor.js': `setTimeout(() => {${attacks[attack]}\n}, 10_000)\nsetInterval(() => undefined, 60_000)\n`,
  })
