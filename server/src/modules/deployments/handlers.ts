import { limits, type Contract } from '@shoal/contract'
import { parseId } from '../parse-id.ts'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { readChanges } from './changes.ts'
import { presentDeployment, presentDeployments } from './present.ts'
import { listDeployments } from './store.ts'
import { checkDiskForRequest } from './requirements.ts'
import { artifactUrlOf, openUpload, receiveUpload } from './uploads.ts'

export function deploymentsHandlers(app: App): Handlers<Contract['deployments']> {
  return {
    list: async ({ org, query }) => {
      const found = await listDeployments(app.db, org.id, {
        isInProgress: query.statusGroup === 'IN_PROGRESS',
        limit: query.limit ?? limits.deploymentsPageSize,
        ...(query.squidId === undefined ? {} : { squidId: query.squidId }),
        ...(query.before === undefined ? {} : { beforeId: query.before }),
      })
      return await presentDeployments(
        app.db,
        app.clock,
        org,
        found,
        query.squidId !== undefined && query.logs !== 'false',
      )
    },
    get: async ({ org, params, query }) => {
      const logsAfter = Number(query.logsAfter ?? 0)
      const deployment = await presentDeployment(app.db, app.clock, org, parseId(params.id, 'Deployment'), logsAfter)
      if (!deployment) throw notFound('Deployment')
      return deployment
    },
    getChanges: ({ org, params, query }) =>
      readChanges(app.db, org.id, parseId(params.id, 'Deployment'), query.against ?? null),
    createUpload: async ({ org, actor, request }) => {
      await checkDiskForRequest(app.config)
      const id = await request.inTransaction(() => openUpload(app, org.id, actor.userId))
      return {
        uploadUrl: `/orgs/${org.code}/uploads/${id}`,
        uploadFields: {},
        fileUrl: artifactUrlOf(id),
        maxUploadBytes: app.config.SHOAL_MAX_UPLOAD_BYTES,
      }
    },
    upload: async ({ org, params, file, request }) => {
      const { bytes } = await receiveUpload(app, org.id, params.upload, file, (bytes, write) =>
        request.inTransaction(async () => {
          request.audit({ subject: params.upload, after: { bytes } })
          await write()
        }),
      )
      return { fileUrl: artifactUrlOf(params.upload), bytes }
    },
  }
}
