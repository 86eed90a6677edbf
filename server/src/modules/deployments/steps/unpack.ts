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

/** Far above what squids have; an archive beyond it is a mistake or an attack. */
const unpackLimits = { totalBytes: 1_000_000_000, files: 50_000, ratio: 200 }

/** Fetches the archive, unpacks it and refuses early whatever cannot work: manifest, plan, secrets. */
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
        'package.json is not in the archive. It belongs beside the manifest; check that .squidignore does not leave it out.',
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

/** The tree of the deployment's archive, fresh. @throws DeployFailure, BuildFailure */
export async function unpackUpload({ app, org, deployment }: StepContext) {
  const upload = deployment.uploadId ? await selectUpload(app.db, org.id, deployment.uploadId) : null
  const sha256 = upload?.sha256
  if (!sha256) throw new DeployFailure('REQUIRED_SOURCE_FILE_MISSED', 'The archive is gone. Please deploy again.')
  return await app.builder.unpack({
    key: treeKey(deployment.id),
    archive: () => readArtifact(app, sha256),
    manifestPath: deployment.manifestPath ?? 'squid.yaml',
    limits: unpackLimits,
  })
}

export const treeKey = (deploymentId: number): string => `d${deploymentId}`

/** The organization may have changed while the deployment waited. */
async function checkOrgMayDeploy({ app, org }: StepContext): Promise<void> {
  const standing = await selectOrg(app.db, org.id)
  const reason = standing ? computeRefusal(standing, app.config) : 'The organization is gone.'
  if (reason) throw new DeployFailure('PERMISSIONS', reason)
}

/**
 * The public client names the slot of the manifest itself; for others the new version moves from its generated slot to the
 * one the manifest asks for.
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
        `The manifest asks for slot ${slot}, which ${squid.name}@${slot} has. To update that version, deploy with this slot (sqd deploy -s ${slot}).`,
      )
    await updateSquid(tx, squid.id, { slot })
    context.deployment = await updateClaimed(tx, deployment, { squidSlot: slot })
  })
}
