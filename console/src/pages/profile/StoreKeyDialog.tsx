import { LazyDialog } from '../../components/LazyDialog.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { CopyField } from '../../ui/CopyButton.tsx'

type Props = { token: string; onClose: () => void }

/** Shows the key of a new API token, which users cannot see again later (spec 2.12). A click outside the dialog must not close it. */
export function StoreKeyDialog({ token, onClose }: Props) {
  const command = `sqd auth -k ${token} -h ${location.origin}/api`
  return (
    <LazyDialog
      title="Store key"
      isOpen
      isDismissable={false}
      width="wide"
      onClose={onClose}
      footer={
        <Button variant="primary" onClick={onClose}>
          I have stored the key
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Alert tone="warn">This key is shown only once. Store it where others cannot read it.</Alert>
        <CopyField text={token} what="API token" isWrapped />
        <div>
          <p className="mb-1.5">Sign in on the command line with it:</p>
          <CodeBlock code={command} what="command" isWrapped />
        </div>
      </div>
    </LazyDialog>
  )
}
