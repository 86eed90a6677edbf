import type { Squid } from '@shoal/contract'
import { useState } from 'react'
import { errorText } from '../../../api/error-text.ts'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { formatDateTime } from '../../../lib/format.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import { RadioGroup } from '../../../ui/RadioGroup.tsx'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { shortImage } from './deployment-labels.ts'
import { useDeployments } from './use-deployments.ts'
import { RollbackNote, useRollback } from './use-rollback.tsx'

type Props = { squid: Squid; onClose: () => void }

/** Lets the user choose the image to roll back to. */
export default function RollbackDialog({ squid, onClose }: Props) {
  const { data, error } = useDeployments()
  const rollback = useRollback(squid)
  const [selectedId, setSelectedId] = useState<string | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const [isPending, setIsPending] = useState(false)
  const candidates = data?.pages.flat().filter((deployment) => rollback.disabledReasonFor(deployment) === null)
  const run = () => {
    setIsPending(true)
    rollback.run({ id: Number(selectedId) }).then(onClose, (reason: unknown) => {
      setFailure(reason)
      setIsPending(false)
    })
  }
  return (
    <LazyDialog
      title={`Roll ${squid.reference} back`}
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
        {candidates === undefined && error === null && <SkeletonRows count={2} />}
        {candidates && candidates.length > 0 && (
          <>
            <RadioGroup
              label="Earlier images"
              value={selectedId}
              onChange={setSelectedId}
              options={candidates.map(({ id, image, createdAt, user }) => ({
                value: String(id),
                label: `Deployment ${id} from ${formatDateTime(createdAt)}`,
                description: `${shortImage(image ?? '')}${user ? ` by ${user.fullName ?? user.email}` : ''}`,
              }))}
            />
            <RollbackNote />
          </>
        )}
        {candidates?.length === 0 && (
          <p>
            There is no earlier image to roll back to. Shoal keeps only the images of the latest successful deployments.
          </p>
        )}
        {(failure ?? error) !== null && <Alert tone="bad">{errorText(failure ?? error)}</Alert>}
      </div>
    </LazyDialog>
  )
}
