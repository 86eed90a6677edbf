import { makeBareSquid } from './bare-squid.ts'

/** Attacks of a hostile squid's processor, repeated until it is stopped. */
export const attacks = {
  'eats memory': `
const kept = []
setInterval(() => kept.push(Buffer.alloc(20 << 20, 1)), 10)`,
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

/** A squid without dependencies whose processor begins its attack ten seconds after its start, when it counts as deployed. */
export const makeHostileSquid = (name: string, attack: Attack): string =>
  makeBareSquid(name, {
    'processor.js': `setTimeout(() => {${attacks[attack]}\n}, 10_000)\nsetInterval(() => undefined, 60_000)\n`,
  })
