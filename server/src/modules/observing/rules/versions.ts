import { failedDeployLabel } from '@shoal/contract'
import { minutes } from '../../../clock.ts'
import { classifyDiskUsage } from '../../databases/index.ts'
import type { AlertFacts, RuleOf } from './rule.ts'

/** Vacuuming changes the usage by a few per cent, so an open alert ends only below this share. */
const clearSpaceShare = 0.77

const lowSpace: RuleOf<'database'> = {
  title: 'Database space',
  explanation: 'A database has almost no disk space left, or none.',
  threshold: null,
  opensWhen: "80 % of a database's space is used; critical from 95 %.",
  appliesTo: 'database',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ database: { usedBytes, totalBytes } }) => {
    const usage = classifyDiskUsage(usedBytes, totalBytes)
    const isLow = usage === 'WARNING' || usage === 'CRITICAL'
    if (usedBytes === null || !(isLow || usedBytes >= totalBytes * clearSpaceShare)) return []
    const share = Math.floor((usedBytes / totalBytes) * 100)
    const consequence = usedBytes >= totalBytes ? 'It is read-only now.' : 'When it is full, it becomes read-only.'
    return [
      {
        severity: usage === 'CRITICAL' ? 'CRITICAL' : 'WARNING',
        container: 'db',
        // The label is prescribed by spec 4.
        label: 'Low database space',
        reason: `${share} % of the database's disk space is used. ${consequence} Raise scale.addons.postgres.storage in the manifest and deploy again.`,
        canOpenAlert: isLow,
      },
    ]
  },
}

const deployFailed: RuleOf<'deployment'> = {
  title: 'Deployment failed',
  explanation: 'The last deployment of a version ended with an error.',
  threshold: null,
  opensWhen: 'The last deployment of a version failed; critical when nothing is running.',
  appliesTo: 'deployment',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ lastDeploy, image, database }) => {
    if (!lastDeploy || lastDeploy.running) return []
    // A change of tags does not end the alert about the code.
    const failed = lastDeploy.failed === 'NO' ? lastDeploy.failedBefore : lastDeploy
    if (!failed) return []
    const running = failed.isSwitched
      ? 'The new code is running nevertheless.'
      : 'The previous deployment keeps running.'
    const consequence = image === null ? nothingRunsSentence(database) : running
    return [
      {
        severity: image === null ? 'CRITICAL' : 'WARNING',
        container: null,
        // The label is prescribed by spec 4.
        label: failedDeployLabel,
        reason: `Deployment ${failed.id} failed. ${consequence} Its log under Deployments shows the reason and how to fix it.`,
      },
    ]
  },
}

/** The database is created before the programs start, and its disk is billed (docs/billing.md). */
const nothingRunsSentence = (database: AlertFacts['database']) =>
  database === null
    ? 'No program is running.'
    : `No program is running. Its database is kept, and ${Math.round(database.totalBytes / 2 ** 30)} GB of disk are billed until the version is deleted (a playground pays nothing).`

export const versionRules = { LOW_SPACE: lowSpace, DEPLOY_FAILED: deployFailed }
