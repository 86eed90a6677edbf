import type { Contract, Deployment } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import type { Actor, Handlers, OrgScope, Request } from '../call.ts'
import { displayedTypeOf } from './deployment-type.ts'
import { presentDeployment } from './present.ts'
import { requestAction, type Action } from './request-action.ts'
import { requestDeploy } from './request-deploy.ts'
import { diskRefusal } from './requirements.ts'
import type { DeploymentRow } from './store.ts'

type ActionName = 'deploy' | 'restart' | 'hibernate' | 'rollback' | 'delete' | 'setTag' | 'removeTag'
type Call = { org: OrgScope; actor: Actor; request: Request }

/** The actions that change a version. Each starts a deployment and returns it without waiting for its end. */
export function squidActionHandlers(app: App): Pick<Handlers<Contract['squids']>, ActionName> {
  /** Records the started deployment in the audit log, and returns it as the API presents it. */
  const auditAndPresent = async ({ org, request }: Call, row: DeploymentRow): Promise<Deployment> => {
    const { id, squidName, squidSlot, tag, sourceDeploymentId } = row
    request.audit({
      subject: `${squidName}@${squidSlot}`,
      after: { deploymentId: id, type: displayedTypeOf(row), tag, sourceDeploymentId },
    })
    const deployment = await presentDeployment(app.db, app.clock, org, id)
    if (!deployment) throw notFound('Deployment')
    return deployment
  }
  const startAction = async (call: Call, action: Action) =>
    auditAndPresent(call, await requestAction(app, call.org, call.actor, action))
  return {
    deploy: async (call) => {
      // Checked before the transaction, because the check waits for the disk. Thrown for new requests, not for repeated ones.
      const refusalOfNew = await diskRefusal(app.config)
      return await call.request.inTransaction(async () =>
        auditAndPresent(call, await requestDeploy(app, call.org, call.actor, call.body, refusalOfNew)),
      )
    },
    restart: (call) => startAction(call, { type: 'RESTART', reference: call.params.reference }),
    hibernate: (call) => startAction(call, { type: 'HIBERNATE', reference: call.params.reference }),
    delete: (call) => startAction(call, { type: 'DELETE', reference: call.params.reference }),
    rollback: (call) =>
      startAction(call, { type: 'ROLLBACK', reference: call.params.reference, deploymentId: call.body.deploymentId }),
    setTag: (call) => startAction(call, { type: 'SET_TAG', reference: call.params.reference, tag: call.params.tag }),
    removeTag: (call) =>
      startAction(call, { type: 'REMOVE_TAG', reference: call.params.reference, tag: call.params.tag }),
  }
}
