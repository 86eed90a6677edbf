import { minutes } from '../../../clock.ts'
import { apiUrls } from '../../squids/index.ts'
import { deleteSquid, removeTag, setTag, tagsOf } from '../../versions/index.ts'
import type { Step } from '../step.ts'

/** Assigns the requested tag, if any, and logs the addresses of the version. */
export const publishUrls: Step = {
  status: 'ADDING_INGRESS',
  activity: 'Assigning the addresses',
  deadlineMs: () => minutes(2),
  run: async (context) => {
    const { app, org, deployment, journal } = context
    const squid = await context.squid()
    if (deployment.tag) {
      const { tag } = deployment
      await context.change((tx) => setTag(tx, squid, tag, app.clock.now()))
      journal.info(`${squid.name}:${deployment.tag} now points to slot ${squid.slot}`)
    }
    if (squid.apiReplicas === 0) return
    const { name, slot } = squid
    const tags = await tagsOf(app.db, squid.id)
    for (const { url } of apiUrls(app.config, { orgCode: org.code, name, slot, tags })) journal.info(`GraphQL: ${url}`)
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
    await context.change((tx) => removeTag(tx, squid, deployment.tag ?? ''))
    journal.info(`${squid.name}:${deployment.tag} was removed`)
  },
}

/** Deletes the row of the version, including its tags. */
export const removeIngress: Step = {
  status: 'REMOVING_INGRESS',
  activity: 'Removing the addresses',
  deadlineMs: () => minutes(2),
  run: async ({ change, deployment, journal }) => {
    await change((tx) => deleteSquid(tx, deployment.squidId))
    journal.info(`${deployment.squidName}@${deployment.squidSlot} was deleted`)
  },
}
