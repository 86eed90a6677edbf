import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { endCommandsOnSignal } from './command.ts'
import { clusterPackages, requirePackages } from './debian-packages.ts'
import { checkLeaks } from './kubernetes/check-leaks.ts'
import { endCluster, startCluster } from './kubernetes/cluster.ts'
import { buildPrograms } from './kubernetes/programs.ts'
import { withProgress } from './progress.ts'

const usage = `A Kubernetes cluster of two nodes on this machine, for tests. It runs until it is stopped (Ctrl-C).

  npm run -s cluster
  npm run -s cluster -- --check N   start and end N clusters, in four ways, and report what each leaves on the machine
`

async function runUntilStopped(): Promise<never> {
  const programs = await buildPrograms()
  const env = await withProgress('Starting the cluster', () => startCluster(programs))
  const exports = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`)
  console.log(exports.join('\n'))
  for (;;) await delay(60_000)
}

const { values } = parseArgs({ options: { check: { type: 'string' }, help: { type: 'boolean' } } })
if (values.help) {
  console.log(usage)
} else if (values.check !== undefined && !/^[1-9]\d{0,3}$/.test(values.check)) {
  console.error(`--check must be a number from 1 to 9999, not ${JSON.stringify(values.check)}.`)
  process.exitCode = 1
} else {
  endCommandsOnSignal(endCluster)
  await requirePackages(clusterPackages)
  if (values.check === undefined) await runUntilStopped()
  else process.exitCode = (await checkLeaks(Number(values.check))) > 0 ? 1 : 0
}
