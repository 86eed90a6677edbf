import { useState, type FormEvent } from 'react'
import { errorText } from '../api/error-text.ts'
import { Alert } from '../ui/Alert.tsx'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { dialogFooterClass } from '../ui/control-classes.ts'
import { TextField } from '../ui/TextField.tsx'
import { closeConfirm, type ConfirmRequest } from './confirm.ts'

/** The dialog that `confirm` opens. Runs the requested action, and shows its error if it fails. */
export default function ConfirmDialog({ request }: { request: ConfirmRequest }) {
  const { title, body, confirmLabel, cancelLabel = 'Cancel', isDanger = false, typedName, action, onCancel } = request
  const [typed, setTyped] = useState('')
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const isReady = typedName === undefined || typed.trim() === typedName

  const cancel = () => {
    closeConfirm()
    onCancel?.()
  }
  const run = async () => {
    setIsPending(true)
    try {
      await action()
      closeConfirm()
    } catch (failure) {
      setError(failure)
      setIsPending(false)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isReady && !isPending) void run()
  }

  return (
    <Dialog title={title} isOpen role="alertdialog" onClose={cancel} isDismissable={!isPending}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div>{body}</div>
        {typedName !== undefined && (
          <TextField
            label={`Type ${typedName} to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            spellCheck={false}
            isMono
          />
        )}
        {error !== null && <Alert tone="bad">{errorText(error)}</Alert>}
        <div className={dialogFooterClass}>
          <Button onClick={cancel} isDisabled={isPending}>
            {cancelLabel}
          </Button>
          <Button type="submit" variant={isDanger ? 'danger' : 'primary'} isPending={isPending} isDisabled={!isReady}>
            {confirmLabel}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
