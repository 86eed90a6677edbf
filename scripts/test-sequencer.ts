import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest test files by duration, slowest first, as in the table that `npm test` prints. */
export const slowFiles = [
  'e2e/console/slow/alerts.test.ts',
  'e2e/client.test.ts',
  'e2e/console/slow/people.test.ts',
  'e2e/console/slow/billing.test.ts',
  'e2e/console/slow/squids.test.ts',
  'e2e/slow/installation.test.ts',
  'e2e/console/version.test.ts',
  'e2e/slow/roles.test.ts',
  'e2e/slow/kill.test.ts',
  'e2e/console/main-workflow.test.ts',
  'e2e/console/slow/metrics.test.ts',
  'e2e/slow/client-refusals.test.ts',
  'e2e/slow/log-followers.test.ts',
  'server/src/modules/deployments/resume.test.ts',
  'runtime/src/process/program-ends.test.ts',
  'server/src/modules/alerts/rules/month.test.ts',
  'server/src/modules/alerts/alerts.test.ts',
  'server/src/modules/deployments/model.test.ts',
  'server/src/gateway/rpc/sockets/accounts.test.ts',
  'server/src/http/database-unavailable.test.ts',
  'server/src/db/leases.test.ts',
  'runtime/src/process/stopping.test.ts',
  'runtime/src/build/builder.test.ts',
  'runtime/src/build/build-isolation.test.ts',
  'scripts/dev.test.ts',
]

/** Starts the slowest files first, so that the last worker does not run one of them alone at the end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const keysOf = ({ project, moduleId }: TestSpecification): [group: number, rank: number] => {
      const rank = slowFiles.findIndex((file) => moduleId.endsWith(`/${file}`))
      return [project.config.sequence.groupOrder, rank === -1 ? slowFiles.length : rank]
    }
    return sorted.toSorted((a, b) => {
      const [[groupA, rankA], [groupB, rankB]] = [keysOf(a), keysOf(b)]
      return groupA - groupB || rankA - rankB
    })
  }
}
