import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import { CodeBlock } from '../../../ui/CodeBlock.tsx'
import { CopyField } from '../../../ui/CopyButton.tsx'
import { verifySnippet } from './verify-snippet.ts'

type Props = { secret: string; onClose: () => void }

/** Shows the signing secret, which users cannot see again later, with code that verifies signatures. */
export function SigningSecret({ secret, onClose }: Props) {
  return (
    <LazyDialog
      title="Signing secret"
      isOpen
      isDismissable={false}
      width="wide"
      onClose={onClose}
      footer={
        <Button variant="primary" onClick={onClose}>
          I have stored the secret
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Alert tone="warn">
          This secret is shown only once. Your server needs it to verify that a message is from Shoal.
        </Alert>
        <CopyField text={secret} what="signing secret" isWrapped />
        <div className="min-w-0">
          <p className="mb-1.5">
            Messages are signed according to{' '}
            <a
              href="https://www.standardwebhooks.com"
              target="_blank"
              rel="noreferrer"
              className="text-accent underline underline-offset-3"
            >
              Standard Webhooks
            </a>
            . Libraries for many languages can verify them. In Node without a library:
          </p>
          <CodeBlock code={verifySnippet} what="code" className="text-ink" />
        </div>
      </div>
    </LazyDialog>
  )
}
