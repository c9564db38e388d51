"""Data models: the law g_nu(eps, chi*) of the hidden position and a sampler, one file each."""
