import { InviteForm } from '../../components/InviteForm.tsx'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'

type Props = { code: string; onClose: () => void }

export function InviteDialog({ code, onClose }: Props) {
  return (
    <Dialog title="Invite user" isOpen onClose={onClose}>
      <p className="mb-4">A mail with a link goes out. Without an account, they sign up with this email first.</p>
      <InviteForm
        code={code}
        onInvited={(email) => {
          onClose()
          toast({ tone: 'good', title: `${email} is invited` })
        }}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      />
    </Dialog>
  )
}
