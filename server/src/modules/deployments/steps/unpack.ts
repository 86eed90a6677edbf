import { ArtifactMissing, ArtifactsUnavailable } from '../../../artifacts/artifact-store.ts'
import { minutes } from '../../../clock.ts'
import { readSecrets } from '../../secrets/index.ts'
import { evaluateEnvironments, parseManifest, parsePlan, type SquidPlan } from '../../manifest/index.ts'
import { selectSquidBySlot, updateSquid } from '../../versions/index.ts'
import { contextsOf, placeholderAddons } from '../addons.ts'
import { recordFiles } from '../changes.ts'
import { DeployFailure } from '../failure.ts'
import { otherOrgRefusal } from '../one-org.ts'
import { checkDiskForBuild, checkEnvironments, checkPlan, programsRefusal } from '../requirements.ts'
import { sanitizeForJsonb } from '../storable.ts'
import type { Step, StepContext } from '../step.ts'
import { updateClaimed } from '../claim-store.ts'
import { selectOrg } from '../store.ts'
import { selectUpload } from '../uploads-store.ts'
import { pauseOrThrow } from '../wait.ts'

/**
 * These limits are far above the size of any real squid; a larger archive is a mistake or an attack. `ratio`: of the unpacked size to
 * the size of the archive.
 */
const unpackLimits = { totalBytes: 1_000_000_000, files: 50_000, ratio: 200 }

/** Unpacks the archive and checks the manifest, the plan, the secrets and the environment before the build. */
export const unpack: Step = {
  status: 'UNPACKING',
  activity: 'Unpacking the archive',
  deadlineMs: () => minutes(10),
  run: async (context) => {
    const { app, journal } = context
    await checkOrgMayDeploy(context)
    await checkDiskForBuild(app.config)
    const unpacked = await unpackUpload(context)
    journal.info(`Unpacked ${unpacked.files} files, ${(unpacked.bytes / 1000).toFixed(0)} kB`)
    for (const note of unpacked.notes) journal.warn(note)
    if (unpacked.packageJson === null)
      throw new DeployFailure(
        'REQUIRED_SOURCE_FILE_MISSED',
        'The archive has no package.json. It belongs next to the manifest; check that .squidignore does not exclude it.',
      )
    const manifest = parseManifest(unpacked.manifestRaw)
    const plan = parsePlan(manifest)
    checkPlan(plan, context.org, app.config)
    await useManifestSlot(context, plan)
    const contexts = contextsOf(context.org.code, await context.squid(), placeholderAddons(plan))
    checkEnvironments(plan, evaluateEnvironments(manifest, await readSecrets(app, context.org.id), contexts))
    const { manifestRaw, sourceHosts } = unpacked
    await context.inClaimedTransaction((tx) => recordFiles(tx, context.deployment.id, unpacked.fileList))
    await context.saveNotes({ manifestRaw, packageJson: sanitizeForJsonb(unpacked.packageJson), sourceHosts })
    journal.info(`The manifest ${unpacked.manifestPath} is valid`)
  },
}

const archiveMissing = () =>
  new DeployFailure('REQUIRED_SOURCE_FILE_MISSED', 'The archive no longer exists. Please deploy again.')

/**
 * Unpacks the deployment's archive into a new tree, and returns what it contains. While the artifact store is unavailable, waits until the
 * step's deadline.
 * @throws DeployFailure, BuildFailure
 */
export async function unpackUpload(context: StepContext) {
  const { app, org, deployment, journal, signal } = context
  const upload = deployment.uploadId ? await selectUpload(app.db, org.id, deployment.uploadId) : null
  const sha256 = upload?.sha256
  if (!sha256) throw archiveMissing()
  for (let attempt = 1; ; attempt++) {
    // The builder reports an archive that it cannot read as a damaged one.
    const read: { error: unknown } = { error: null }
    try {
      return await app.builder.unpack({
        key: treeKey(deployment.id),
        archive: () => app.artifacts.read(sha256).once('error', (error) => (read.error = error)),
        manifestPath: deployment.manifestPath ?? 'squid.yaml',
        limits: unpackLimits,
      })
    } catch (error) {
      if (read.error instanceof ArtifactMissing) throw archiveMissing()
      if (!(read.error instanceof ArtifactsUnavailable)) throw error
      app.log.error({ deploymentId: deployment.id }, read.error.message)
      if (attempt === 1) journal.warn('The archive cannot be read at the moment. The deployment continues when it can.')
      await pauseOrThrow(context.intervals.retryMs, signal)
    }
  }
}

/** The builder's key of the tree into which the deployment's archive is unpacked. */
export const treeKey = (deploymentId: number): string => `d${deploymentId}`

/** Checks again, because the organization and the host may have changed while the deployment was queued. */
async function checkOrgMayDeploy({ app, org }: StepContext): Promise<void> {
  const payer = await selectOrg(app.db, org.id)
  const reason = payer ? programsRefusal(payer, app.config) : 'The organization no longer exists.'
  if (reason) throw new DeployFailure('PERMISSIONS', reason)
  const otherOrgReason = await otherOrgRefusal(app.db, org.id)
  if (otherOrgReason) throw new DeployFailure('REQUIREMENTS', otherOrgReason)
}

/**
 * Moves a new version from its generated slot to the slot in the manifest. The public client sends that slot in its request, but other
 * clients need not.
 */
async function useManifestSlot(context: StepContext, plan: SquidPlan): Promise<void> {
  const { app, deployment } = context
  if (!deployment.isSlotGenerated || !plan.slot || plan.slot === deployment.squidSlot) return
  const { slot } = plan
  const squid = await context.squid()
  await app.db.transaction(async (tx) => {
    if (await selectSquidBySlot(tx, squid.orgId, squid.name, slot))
      throw new DeployFailure(
        'REQUIREMENTS',
        `The manifest requests slot ${slot}, which ${squid.name}@${slot} already uses. To update that version, deploy with this slot (sqd deploy -s ${slot}).`,
      )
    await updateSquid(tx, squid.id, { slot })
    context.deployment = await updateClaimed(tx, deployment, { squidSlot: slot })
  })
}
