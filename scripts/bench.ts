import { globSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { Bench, Result } from './bench/support/result.ts'
import { endProcessesOf } from './leftovers.ts'
import { makeFolderForAllUsers } from './temporary-folders.ts'
import { root } from './root.ts'

const options = {
  json: { type: 'boolean', default: false },
  web: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })

/** The folder of the benchmarks: with `--web` those of the console in a browser, otherwise those of the server and its squids. */
const benchFolder = join(root, values.web ? 'scripts/bench-web' : 'scripts/bench')
const names = globSync('*.ts', { cwd: benchFolder })
  .map((file) => basename(file, '.ts'))
  .toSorted()

const usage = `Measures Shoal and compares the results with their targets; see docs/benchmarks.md.

  npm run -s ${values.web ? 'bench:web' : 'bench'} -- [name…] [--json] [--write]

  names: ${names.join(', ')}; by default all of them, one after the other
  --json: prints one line {"name","value","unit","bar","holds"} per result; "bar" is the target
  --write: writes the table of \`plans\` to docs/benchmarks.md

Exits with code 1 if a target is missed.
`

function print(result: Result, isJson: boolean): void {
  if (isJson) return console.log(JSON.stringify(result))
  const { name, value, unit, bar, holds } = result
  console.log(`${holds ? '✓' : '✗'} ${name.padEnd(44)} ${`${value} ${unit}`.padStart(20)}   target ${bar}`)
}

async function main(): Promise<boolean> {
  const unknown = positionals.filter((name) => !names.includes(name))
  if (values.help || unknown.length > 0) {
    console.error(usage)
    return unknown.length === 0
  }
  let areAllMet = true
  for (const name of positionals.length > 0 ? positionals : names) {
    const { bench } = (await import(pathToFileURL(join(benchFolder, `${name}.ts`)).href)) as { bench: Bench }
    for await (const result of bench.run({ isWriting: values.write })) {
      print(result, values.json)
      areAllMet &&= result.holds
    }
  }
  return areAllMet
}

// All processes that the benchmarks start use this folder, so that this process can find and stop them even when it is interrupted.
const folder = makeFolderForAllUsers('st-')
process.env['TMPDIR'] = folder
process.once('exit', () => {
  endProcessesOf(folder)
  rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))
try {
  process.exitCode = (await main()) ? 0 : 1
} catch (error) {
  console.error(`bench: ${(error as Error).message}`)
  process.exitCode = 1
}
