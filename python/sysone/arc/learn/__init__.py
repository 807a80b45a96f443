"""From traces to a trained System-1: dataset, augmentation, the stages A, B and C."""
