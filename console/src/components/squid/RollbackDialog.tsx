import type { Squid } from '@shoal/contract'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { deploymentsQuery } from '../../api/deployments.ts'
import { errorText } from '../../api/error-text.ts'
import { versionQuery } from '../../api/version.ts'
import { formatDateTime } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { RadioGroup } from '../../ui/RadioGroup.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { shortImage } from '../deployment-title.ts'
import { LazyDialog } from '../LazyDialog.tsx'
import { QueryView } from '../QueryView.tsx'
import { rollbackDisabledReason, RollbackNote } from './deployment-actions.tsx'
import { useRollback } from './use-version-actions.ts'

type Props = { reference: string; onClose: () => void }

/** Lets the user choose the earlier image to roll back to, and starts the rollback. */
export default function RollbackDialog({ reference, onClose }: Props) {
  const { code } = useOrg()
  const squid = useQuery(versionQuery({ code, reference }))
  const rollback = useRollback()
  const [selectedId, setSelectedId] = useState<string | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const [isPending, setIsPending] = useState(false)
  const run = () => {
    setIsPending(true)
    rollback(reference, Number(selectedId)).then(onClose, (reason: unknown) => {
      setFailure(reason)
      setIsPending(false)
    })
  }
  return (
    <LazyDialog
      title={`Roll back ${reference}`}
      isOpen
      onClose={onClose}
      isDismissable={!isPending}
      footer={
        <>
          <Button onClick={onClose} isDisabled={isPending}>
            Cancel
          </Button>
          <Button variant="primary" isPending={isPending} isDisabled={selectedId === null} onClick={run}>
            Roll back
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 pt-1">
        <QueryView query={squid} what="This version" skeleton={<SkeletonRows count={2} />}>
          {(loaded) => <Images squid={loaded} selectedId={selectedId} onSelect={setSelectedId} />}
        </QueryView>
        {failure !== null && <Alert tone="bad">{errorText(failure)}</Alert>}
      </div>
    </LazyDialog>
  )
}

type ImagesProps = { squid: Squid; selectedId: string | null; onSelect: (id: string) => void }

/** The deployments to which the version can roll back: their images are kept, and are not the current one. */
function Images({ squid, selectedId, onSelect }: ImagesProps) {
  const query = useInfiniteQuery(deploymentsQuery(squid.organization.code, String(squid.id)))
  return (
    <QueryView query={query} what="The deployments" skeleton={<SkeletonRows count={2} />}>
      {(deployments) => {
        const candidates = deployments.filter((deployment) => rollbackDisabledReason(squid, deployment) === null)
        if (candidates.length === 0)
          return (
            <p>
              There is no earlier image to roll back to. Shoal keeps only the images of the latest successful
              deployments.
            </p>
          )
        return (
          <>
            <RadioGroup
              label="Earlier images"
              value={selectedId}
              onChange={onSelect}
              options={candidates.map(({ id, image, createdAt, user }) => ({
                value: String(id),
                label: `Deployment ${id} from ${formatDateTime(createdAt)}`,
                description: `${shortImage(image ?? '')}${user ? ` by ${user.fullName ?? user.email}` : ''}`,
              }))}
            />
            <RollbackNote />
          </>
        )
      }}
    </QueryView>
  )
}
