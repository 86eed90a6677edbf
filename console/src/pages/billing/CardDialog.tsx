import { LazyDialog } from '../../components/LazyDialog.tsx'
import { CardForm } from './CardForm.tsx'

type Props = { title: string; text?: string; code: string; replaces?: string; onClose: () => void }

export function CardDialog({ title, text, code, replaces, onClose }: Props) {
  return (
    <LazyDialog title={title} isOpen onClose={onClose}>
      {text && <p className="mb-3 text-ink-2">{text}</p>}
      <CardForm code={code} onSaved={onClose} {...(replaces !== undefined && { replaces })} />
    </LazyDialog>
  )
}
