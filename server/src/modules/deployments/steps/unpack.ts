import { minutes } from '../../../clock.ts'
import { readSecrets } from '../../secrets/index.ts'
import { evaluateEnvironments, parseManifest, parsePlan, type SquidPlan } from '../../manifest/index.ts'
import { selectSquidBySlot, updateSquid } from '../../versions/index.ts'
import { contextsOf, placeholderAddons } from '../addons.ts'
import { DeployFailure } from '../failure.ts'
import { checkEnvironments, checkPlan, computeRefusal } from '../requirements.ts'
import { sanitizeForJsonb } from '../storable.ts'
import type { Step, StepContext } from '../step.ts'
import { selectOrg, updateClaimed } from '../store.ts'
import { selectUpload } from '../uploads-store.ts'
import { readArtifact } from '../uploads.ts'

/** Far above the size of any real squid; a larger archive is a mistake or an attack. */
const unpackLimits = { totalBytes: 1_000_000_000, files: 50_000, ratio: 200 }

/** Unpacks the archive and checks early what would fail later: manifest, plan, secrets, environment. */
export const unpack: Step = {
  status: 'UNPACKING',
  doing: 'Unpacking the archive',
  deadlineMs: () => minutes(10),
  run: async (context) => {
    const { app, journal } = context
    await checkOrgMayDeploy(context)
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
    checkPlan(plan, context.org)
    await takeManifestSlot(context, plan)
    const contexts = contextsOf(context.org.code, await context.squid(), placeholderAddons(plan))
    checkEnvironments(evaluateEnvironments(manifest, await readSecrets(app, context.org.id), contexts))
    const { manifestRaw, sourceHosts } = unpacked
    await context.note({ manifestRaw, packageJson: sanitizeForJsonb(unpacked.packageJson), sourceHosts })
    journal.info(`The manifest ${unpacked.manifestPath} is valid`)
  },
}

/** Unpacks the deployment's archive into a new tree. @throws DeployFailure, BuildFailure */
export async function unpackUpload({ app, org, deployment }: StepContext) {
  const upload = deployment.uploadId ? await selectUpload(app.db, org.id, deployment.uploadId) : null
  const sha256 = upload?.sha256
  if (!sha256)
    throw new DeployFailure('REQUIRED_SOURCE_FILE_MISSED', 'The archive no longer exists. Please deploy again.')
  return await app.builder.unpack({
    key: treeKey(deployment.id),
    archive: () => readArtifact(app, sha256),
    manifestPath: deployment.manifestPath ?? 'squid.yaml',
    limits: unpackLimits,
  })
}

export const treeKey = (deploymentId: number): string => `d${deploymentId}`

/** The organization may have changed while the deployment was queued. */
async function checkOrgMayDeploy({ app, org }: StepContext): Promise<void> {
  const payer = await selectOrg(app.db, org.id)
  const reason = payer ? computeRefusal(payer, app.config) : 'The organization no longer exists.'
  if (reason) throw new DeployFailure('PERMISSIONS', reason)
}

/**
 * The public client sends the slot of the manifest itself; for other clients the new version moves from its generated slot to the
 * one in the manifest.
 */
async function takeManifestSlot(context: StepContext, plan: SquidPlan): Promise<void> {
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
