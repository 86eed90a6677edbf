import type { Deployment } from '@shoal/contract'
import { DeployLog } from '../src/components/deploy-log/DeployLog.tsx'
import { FailureAlert } from '../src/components/deploy-log/FailureAlert.tsx'
import { Section } from './Section.tsx'

const startedMs = Date.now() - 120_000
const at = (seconds: number) => new Date(startedMs + seconds * 1000).toISOString()
const escape = '\u001B'
const line = (seconds: number, message: string, severity: 'info' | 'warn' | 'error' = 'info') => ({
  severity,
  message,
  at: at(seconds),
})
const compilerError = "src/mapping.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."

const failed: Deployment = {
  id: 12,
  type: 'DEPLOY',
  status: 'IMAGE_BUILDING',
  failed: 'SOURCE_FILES_BUILD_FAILED',
  logs: [
    line(0, 'Unpacking 14 files'),
    line(1.2, 'npm warn deprecated glob@7.2.3', 'warn'),
    line(9.8, `${escape}[36m> erc20-transfers@1.0.0 build${escape}[39m\n> tsc`),
    line(14.1, compilerError, 'error'),
    line(14.2, 'npm run build ended with exit code 2.', 'error'),
  ],
  steps: [],
  plan: [],
  failureReason: `npm run build ended with exit code 2.\n${compilerError}`,
  organization: { id: 1, code: 'acme-labs', name: 'Acme Labs' },
  user: null,
  squid: null,
  options: { tag: null, hardReset: false },
  image: null,
  totalElapsedTimeMs: 14_200,
  createdAt: at(0),
  updatedAt: at(14),
}
const waiting: Deployment = { ...failed, id: 13, failed: 'NO', failureReason: null, logs: [] }
const filter = { search: 'mapping', severities: null }

/** The parts of the pages about deployments. */
export function Deployments() {
  return (
    <Section title="Deployments">
      <div>
        <FailureAlert deployment={failed} state="The previous code keeps running." />
        <DeployLog deployment={failed} />
      </div>
      <DeployLog deployment={failed} title="Log, filtered" linesLabel="Filtered lines" filter={filter} />
      <DeployLog deployment={waiting} title="Log, waiting" linesLabel="Awaited lines" />
    </Section>
  )
}
