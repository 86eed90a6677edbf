import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operateDoc } from '../server/src/config/operate-doc.ts'
import { alertRulesSource, withAlertRules } from '../server/src/modules/observing/rules/rule-documents.ts'
import { evmChainsSource } from '../server/src/modules/chains/testing/viem-chains.ts'
import { runChecks } from './checks.ts'
import { endCommandsOnSignal, runCommand } from './command.ts'
import { root } from './root.ts'

/** Formats the sources, and regenerates docs/operate.md, the tables of EVM chains and of alert rules, for `npm run check -- --write`. */
async function write(): Promise<void> {
  writeFileSync(join(root, 'docs/operate.md'), operateDoc())
  writeFileSync(join(root, 'server/src/modules/chains/evm-chains.gen.ts'), evmChainsSource())
  writeFileSync(join(root, 'contract/src/alert-rules.gen.ts'), alertRulesSource())
  const alertsPage = join(root, 'docs/alerts.md')
  writeFileSync(alertsPage, withAlertRules(readFileSync(alertsPage, 'utf8')))
  await runCommand('prettier', ['--write', '--log-level', 'warn', '.'])
}

endCommandsOnSignal()
if (process.argv.includes('--write')) await write()
const { failed } = await runChecks()
process.exitCode = failed.length > 0 ? 1 : 0
