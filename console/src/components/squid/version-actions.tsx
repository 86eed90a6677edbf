import { squidActionChecks, type SquidSummary } from '@shoal/contract'
import { Copy, ListTree, Moon, Rocket, RotateCw, Trash2, Undo2 } from 'lucide-react'
import { lazyPart } from '../../lib/lazy.tsx'
import type { ActionOn } from '../actions.ts'
import { copyWithToast } from '../copy-with-toast.ts'
import { openDialog } from '../open-dialog.ts'
import { endpointOf } from './endpoint-of.ts'

const RollbackDialog = lazyPart(() => import('./RollbackDialog.tsx'))

/** The functions that the actions on a version call. */
export type VersionContext = Record<
  'openSchema' | 'restart' | 'redeploy' | 'hibernate' | 'remove',
  (squid: SquidSummary) => unknown
>

/** Why a version has no image to deploy again; null if it has one. */
const noImageReason = (squid: SquidSummary): string | null =>
  squidActionChecks.rollback(squid) ?? (squid.deployedAt === null ? 'It was never deployed successfully.' : null)

/** Why the API of a version cannot be used; null if it can. */
const noApiReason = (squid: SquidSummary): string | null =>
  endpointOf(squid) === null ? 'This version has no API.' : squidActionChecks.copyEndpoint(squid)

/**
 * The actions on a version, with their confirmations (spec 4, Actions). The list, the header of a version and the command
 * palette show them in this order.
 */
export const versionActions = {
  copyEndpoint: {
    label: 'Copy endpoint',
    icon: Copy,
    disabledReason: noApiReason,
    run: (squid) => {
      const url = endpointOf(squid)
      if (url !== null) void copyWithToast(url, 'Endpoint copied', url)
    },
  },
  openSchema: {
    label: 'Schema and examples',
    icon: ListTree,
    disabledReason: noApiReason,
    run: (squid, { openSchema }) => openSchema(squid),
  },
  restart: {
    label: 'Restart',
    icon: RotateCw,
    permission: 'squids.write',
    disabledReason: squidActionChecks.restart,
    run: (squid, { restart }) => restart(squid),
  },
  redeploy: {
    label: 'Redeploy',
    icon: Rocket,
    permission: 'squids.write',
    disabledReason: noImageReason,
    confirm: ({ reference }) => ({
      title: `Redeploy ${reference}?`,
      body: 'This deploys its current image again, with the current secrets, and publishes its URLs again. Its data is kept. To deploy changed code, run sqd deploy.',
      confirmLabel: 'Redeploy',
    }),
    run: (squid, { redeploy }) => redeploy(squid),
  },
  hibernate: {
    label: 'Hibernate',
    icon: Moon,
    permission: 'squids.write',
    disabledReason: squidActionChecks.hibernate,
    confirm: ({ reference }) => ({
      title: `Hibernate ${reference}?`,
      body: 'This pauses its virtual machines to lower costs. All data is kept: you can restart or redeploy it with the data intact. Until then its API is not available.',
      confirmLabel: 'Hibernate',
    }),
    run: (squid, { hibernate }) => hibernate(squid),
  },
  rollBack: {
    label: 'Roll back…',
    icon: Undo2,
    permission: 'squids.write',
    disabledReason: noImageReason,
    run: ({ reference }) => openDialog((close) => <RollbackDialog reference={reference} onClose={close} />),
  },
  delete: {
    label: 'Delete',
    icon: Trash2,
    isDanger: true,
    permission: 'squids.write',
    disabledReason: squidActionChecks.delete,
    confirm: ({ name, reference, tags }) => ({
      title: `Delete ${reference}?`,
      body: `This deletes the version with its database, logs and metrics, and ${tags.length === 0 ? 'its URL stops' : 'its URLs and tags stop'} working. This cannot be undone. Other versions of ${name} are not affected.`,
      confirmLabel: 'Delete',
      typedName: reference,
    }),
    run: (squid, { remove }) => remove(squid),
  },
} satisfies Record<string, ActionOn<SquidSummary, VersionContext>>
