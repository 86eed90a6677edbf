import { type Bench } from '../bench/support/result.ts'
import { org } from './support/console.ts'
import { audit, calibrate, judgeReports } from './support/lighthouse.ts'
import { withVersions } from './support/versions.ts'

const versionCount = 50

/** Runs Lighthouse on the list of squids, which a signed-in user opens with an empty cache. */
export const bench: Bench = {
  name: 'list-lighthouse',
  async *run() {
    yield* withVersions(versionCount, async function* ({ shoal, deployer }) {
      // Signed in, with the onboarding tour finished and the invitations checked.
      const localStorageValues = { user_token: deployer.token, onboardingGuide: '4', tmp_invites_checked: 'true' }
      const flags = await calibrate(shoal.url)
      const reports = await audit(`${shoal.url}/squids?organization=${org}`, undefined, flags, localStorageValues)
      yield* judgeReports('list', 'mobile', reports, 95)
      if (process.env['LIGHTHOUSE_AUDITS'])
        for (const report of reports)
          console.error(
            Object.values(report.audits)
              .filter(({ score }) => score !== null && score < 1)
              .map(({ id, score, displayValue }) => `${id} ${score} ${displayValue ?? ''}`)
              .join('\n'),
          )
    })
  },
}
