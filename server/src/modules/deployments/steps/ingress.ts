import { minutes } from '../../../clock.ts'
import { apiUrls, hasuraUrls } from '../../squids/index.ts'
import { deleteSquid, removeTag, setTag, tagsOf } from '../../versions/index.ts'
import type { Step } from '../step.ts'

/** Assigns the requested tag, if any, and logs the addresses of the version. */
export const assignTag: Step = {
  status: 'ADDING_INGRESS',
  activity: 'Assigning the addresses',
  deadlineMs: () => minutes(2),
  run: async (context) => {
    const { app, org, deployment, journal } = context
    const squid = await context.squid()
    if (deployment.tag) {
      const { tag } = deployment
      await context.inClaimedTransaction((tx) => setTag(tx, squid, tag, app.clock.now()))
      journal.info(`${squid.name}:${deployment.tag} now points to slot ${squid.slot}`)
    }
    const { name, slot, apiReplicas, hasuraReplicas } = squid
    const parts = { orgCode: org.code, name, slot, tags: await tagsOf(app.db, squid.id) }
    if (apiReplicas > 0) for (const { url } of apiUrls(app.config, parts)) journal.info(`GraphQL: ${url}`)
    if (hasuraReplicas > 0) for (const { url } of hasuraUrls(app.config, parts)) journal.info(`Hasura: ${url}`)
  },
}

/** Removes the requested tag. */
export const untag: Step = {
  status: 'REMOVING_INGRESS',
  activity: 'Removing the tag',
  deadlineMs: () => minutes(2),
  run: async (context) => {
    const { deployment, journal } = context
    const squid = await context.squid()
    await context.inClaimedTransaction((tx) => removeTag(tx, squid, deployment.tag ?? ''))
    journal.info(`${squid.name}:${deployment.tag} was removed`)
  },
}

/** Deletes the row of the version, including its tags. */
export const deleteVersionRow: Step = {
  status: 'REMOVING_INGRESS',
  activity: 'Removing the addresses',
  deadlineMs: () => minutes(2),
  run: async ({ inClaimedTransaction, deployment, journal }) => {
    await inClaimedTransaction((tx) => deleteSquid(tx, deployment.squidId))
    journal.info(`${deployment.squidName}@${deployment.squidSlot} was deleted`)
  },
}
