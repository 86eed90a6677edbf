import { InviteForm } from '../../components/InviteForm.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'

type Props = { code: string; onClose: () => void }

/** Lets the user invite a member. */
export default function InviteDialog({ code, onClose }: Props) {
  return (
    <LazyDialog title="Invite user" isOpen onClose={onClose}>
      <p className="mb-4">
        Shoal sends them an email with a link. If they have no account, they first sign up with this email address.
      </p>
      <InviteForm
        code={code}
        onInvited={(email) => {
          onClose()
          toast({ tone: 'good', title: `${email} has been invited` })
        }}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      />
    </LazyDialog>
  )
}
